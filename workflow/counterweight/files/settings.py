"""The text that names a setting: a point of a sweep, such as ``inertia=0.9,shifts=all``.

The text is the id of a setting in every table. Whoever needs the values behind it asks
`setting_options`; nobody else takes the text apart.
"""


def setting_name(options):
    """Text for the options of a setting, e.g. ``inertia=0.9,shifts=all``."""
    return ",".join(f"{name}={_text(value)}" for name, value in options.items())


def _text(value):
    parts = list(value.values()) if isinstance(value, dict) else value
    return "+".join(map(_text, parts)) if isinstance(parts, list) else str(value)


def setting_options(setting):
    """``"inertia=0.9,iterations=5,shifts=all"`` as a dict; numbers where they are numbers.

    A text without a value, such as ``hard``, gives a name with the value "".
    """
    options = {}
    for option in filter(None, setting.split(",")):
        name, _, value = option.partition("=")
        try:
            options[name] = float(value)
        except ValueError:
            options[name] = value
    return options


def numbers_of(setting):
    """The options of a setting that are numbers, as `setting_options` has them."""
    return {
        name: value for name, value in setting_options(setting).items() if isinstance(value, float)
    }
