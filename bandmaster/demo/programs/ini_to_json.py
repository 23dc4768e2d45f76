"""Convert an INI configuration to typed JSON, and back without loss.

Values become numbers, booleans and lists; written as INI again, the JSON must read as the same configuration.
"""

import configparser
import io
import json

INI = """
[DEFAULT]
data = /srv/shop

[server]
host = 0.0.0.0
port = 8443
tls = yes
timeout = 2.5

[paths]
uploads = %(data)s/uploads
logs = %(data)s/logs

[mail]
admins = ada@example.org, bob@example.org
retry = off
"""
Value = bool | int | float | str | list[str]
BOOLEANS = {"yes": True, "on": True, "no": False, "off": False}


def typed(text: str) -> Value:
    """Return the value that a text most likely means."""
    if text in BOOLEANS:
        return BOOLEANS[text]
    if ", " in text:
        return text.split(", ")
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def to_text(value: Value) -> str:
    """Return the text that ``typed`` reads as ``value``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def read(ini: str) -> dict[str, dict[str, Value]]:
    """Return section -> option -> value, without the defaults' own section."""
    parser = configparser.ConfigParser()
    parser.read_string(ini)
    return {
        section: {name: typed(text) for name, text in parser[section].items() if name not in parser.defaults()}
        for section in parser.sections()
    }


def main() -> None:
    settings = read(INI)
    text = json.dumps(settings, indent=2)
    print(text)

    writer = configparser.ConfigParser(interpolation=None)
    for section, options in json.loads(text).items():
        writer[section] = {name: to_text(value) for name, value in options.items()}
    out = io.StringIO()
    writer.write(out)
    if read(out.getvalue()) != settings:
        raise SystemExit("the way back gave another configuration")
    if settings["paths"]["logs"] != "/srv/shop/logs":
        raise SystemExit("a value was read wrongly")


if __name__ == "__main__":
    main()
