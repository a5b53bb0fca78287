"""What `ambulo play` and `ambulo watch` show: the stage of each kind of model."""
