"""What ends a start is one line, or one for each fault of the settings."""

from nncache.errors import AdminError, ConfigurationError


def test_an_error_has_a_line_for_the_terminal() -> None:
    """The same as its text."""
    error = AdminError("nothing answers")
    assert (str(error), error.lines, error.exit_code) == ("nothing answers", ("nothing answers",), 1)


def test_faults_of_settings_are_lines_of_their_own() -> None:
    """In a log they are one."""
    error = ConfigurationError("a: 1: wrong", "b: 2: wrong")
    assert error.lines == ("a: 1: wrong", "b: 2: wrong")
    assert (str(error), error.exit_code) == ("a: 1: wrong; b: 2: wrong", 2)
