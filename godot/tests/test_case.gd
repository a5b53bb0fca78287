class_name AmbuloTest
extends RefCounted
## Base of the tests in this folder: `tests/test_*.gd` files extend it, and the runner calls
## each of their `test_*` methods on a fresh instance. A method may `await`.
##
## A test fails by a check, by any error that the engine reports meanwhile (unless
## [method expect_error] announced it), or by making no check at all.

## Running tree, for tests that need nodes or frames.
var tree: SceneTree
## Lines about what went wrong.
var failures: PackedStringArray = []
## Checks made.
var checks := 0
## Parts of engine errors that may come.
var expected_errors: PackedStringArray = []


## Fails unless [param got] equals [param expected].
func check_equal(got: Variant, expected: Variant, what := "") -> void:
	checks += 1
	if typeof(got) != typeof(expected) or got != expected:
		_fail(what, str(expected), str(got))


## Fails unless the two numbers differ by at most [param tolerance].
func check_near(got: float, expected: float, tolerance := 1e-9, what := "") -> void:
	checks += 1
	if not absf(got - expected) <= tolerance:
		_fail(what, "%s +- %s" % [expected, tolerance], str(got))


## Fails unless the lists have equal length and differ by at most [param tolerance].
func check_all_near(
	got: PackedFloat64Array, expected: PackedFloat64Array, tolerance := 1e-9, what := ""
) -> void:
	checks += 1
	if got.size() != expected.size():
		_fail(what, "%d numbers" % expected.size(), "%d numbers" % got.size())
		return
	for k in got.size():
		if not absf(got[k] - expected[k]) <= tolerance:
			var index := "%s[%d]" % [what, k]
			_fail(index, "%s +- %s" % [expected[k], tolerance], str(got[k]))
			return


## Fails unless [param condition] holds.
func check(condition: bool, what := "") -> void:
	checks += 1
	if not condition:
		_fail(what, "true", "false")


## Fails unless [param text] has [param part] in it.
func check_contains(text: String, part: String, what := "") -> void:
	checks += 1
	if not part in text:
		_fail(what, "a text with '%s'" % part, "'%s'" % text)


## Lets an engine error with [param part] in its message pass.
func expect_error(part: String) -> void:
	expected_errors.append(part)


func _fail(what: String, expected: String, got: String) -> void:
	var line := 0
	for frame in get_stack():
		if str(frame["source"]).get_file() != "test_case.gd":
			line = frame["line"]
			break
	var place := "line %d: " % line if line > 0 else ""
	failures.append("%s%s: expected %s, got %s" % [place, what, expected, got])
