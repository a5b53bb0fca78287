class_name AmbuloLostHead
extends RefCounted
## The head of a policy that says how probable it is that the agent is lost.
##
## It reads the last hidden layer of the network, which it never changes. Beside the
## probability it keeps, for each agent, whether the agent says that it is lost: from above
## one threshold until below another one, so that it does not flicker.

var _rows: Array[Array] = []
var _biases: Array[PackedVector4Array] = []
var _values: Array[PackedVector4Array] = []
var _relus: Array[bool] = []
var _chances: Dictionary[int, float] = {}
var _lost: Dictionary[int, bool] = {}


## The head of [param file], which was loaded without an error; null if it has none.
static func from_file(file: AmbuloPolicyFile) -> AmbuloLostHead:
	if file.lost_layers.is_empty():
		return null
	var head := AmbuloLostHead.new()
	for row: Dictionary in file.lost_layers:
		var height: int = row.outputs
		var first: int = row.bias
		head._rows.append(AmbuloMlp.pack(file.weights, row.weight, height, row.inputs))
		head._biases.append(AmbuloMlp.fours(file.weights.slice(first, first + height)))
		head._values.append(AmbuloMlp.zeros(height))
		head._relus.append(row.activation == "relu")
	return head


## The probability of being lost for the last hidden layer [param latent] of the network.
func probability(latent: PackedVector4Array) -> float:
	var x := latent
	for index in _rows.size():
		var code := AmbuloMlp.RELU if _relus[index] else 0
		var y := _values[index]
		AmbuloMlp.layer(_rows[index], _biases[index], code, x, y)
		x = y
	return 1.0 / (1.0 + exp(-x[0].x))


## Take in that [param agent] is lost with the probability [param chance]; whether it began or
## stopped to say so.
func take(agent: int, chance: float, above: float, below: float) -> bool:
	var before := is_lost(agent)
	_chances[agent] = chance
	_lost[agent] = chance >= below if before else chance > above
	return _lost[agent] != before


## The probability that was last taken in of [param agent]; -1 if there is none.
func chance_of(agent: int) -> float:
	return _chances.get(agent, -1.0)


## Whether [param agent] says that it is lost.
func is_lost(agent: int) -> bool:
	return _lost.get(agent, false)


## Forget [param agent]; whether it said that it was lost.
func forget(agent: int) -> bool:
	var before := is_lost(agent)
	_chances.erase(agent)
	_lost.erase(agent)
	return before
