"""Evaluation of trained models: scores, baselines, tables and reports."""
