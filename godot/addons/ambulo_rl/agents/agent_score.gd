class_name AmbuloAgentScore
extends RefCounted
## Reward and end of an agent's running episode, as its scripts report them.

## Whether the episode is over, by [method end].
var ended := false
## Whether the episode that is over was a success; null: its scripts do not say.
var success: Variant = null
## Reward of this step by the name of its term.
var terms: Dictionary[String, float] = {}
## Reward since it was last taken.
var sum := 0.0


## Adds [param amount] to the reward of this step, under the name [param term] if it has one.
func add(amount: float, term: String) -> void:
	sum += amount
	if term != "":
		terms[term] = terms.get(term, 0.0) + amount


## Ends the episode.
func end(was_success: Variant) -> void:
	ended = true
	success = was_success


## Sets all terms to zero; their names stay.
func clear_terms() -> void:
	for term in terms:
		terms[term] = 0.0


## Begins an episode.
func clear() -> void:
	ended = false
	success = null
	sum = 0.0
	clear_terms()
