"""What notebooks show: a variable as the tree of its graph, a function with its graph and kernels. HTML that needs no script
and nothing from elsewhere; every text of the program is escaped."""

from . import _croton

MOST_NODES = 200

_STYLE = "font-family: monospace; line-height: 1.4"
_QUIET = "color: gray"
_CODE = "overflow-x: auto; margin: 0.3em 0 0.6em 1.5em"


def escape(text):
    import html  # its tables of names take longer to load than all of this package
    return html.escape(str(text))


def _quiet(text):
    return f' <span style="{_QUIET}">{escape(text)}</span>' if text else ""


def _box(content):
    return f'<div class="croton" style="{_STYLE}">{content}</div>'


def rows_of(x, most=MOST_NODES):
    """(rows, whole) of a graph, outputs first: (depth, what, name, type, line, seen) for each node; `seen` ones stand higher up
    with what they were made of. After `most` rows the rest is left out, and whole is False."""
    rows, seen, left = [], set(), [(0, x)]
    while left:
        depth, node = left.pop()
        if len(rows) == most:
            return rows, False
        made = _croton.application(node)
        again = made is not None and node in seen
        rows.append((depth, _what(node, made), node.name, node.type, _croton.line_of(node), again))
        seen.add(node)
        if made and not again:
            left += [(depth + 1, x) for x in reversed(made[1])]
    return rows, True


def _what(node, made):
    if made:
        return made[0]
    if node.is_constant:
        return f"constant {_croton.constant_value(node)}" if node.ndim == 0 else "constant"
    return "shared" if _croton.is_shared(node) else "input"


def tree(rows, whole=True):
    """Rows of rows_of as nested lists."""
    parts, depth = ['<ul style="margin: 0">'], 0
    for i, (level, what, name, type, line, again) in enumerate(rows):
        if level > depth:
            parts.append("<ul>")
        elif i > 0:
            parts.append("</li>" + "</ul></li>" * (depth - level))
        depth = level
        named = f" <i>{escape(name)}</i>" if name else ""
        parts.append(f"<li><b>{escape(what)}</b>{named} <code>{escape(type)}</code>{_quiet(line)}"
                     f"{_quiet('(as above)') if again else ''}")
    parts.append("</li>" + "</ul></li>" * depth if rows else "")
    parts.append("</ul>")
    if not whole:
        parts.append(f"<p>The first {len(rows)} nodes; croton.debugprint shows all.</p>")
    return "".join(parts)


def variable_html(x):
    """A variable as the tree of what it is made of."""
    return _box(tree(*rows_of(x)))


def results_of(graph):
    """(outputs, updates) of the text of a rewritten graph: [(name, type)] and [(variable, name, type)]."""
    types, outputs, updates = {}, [], []
    for line in graph.splitlines():
        code = line.split("  # ")[0]
        if code.startswith("return "):
            outputs = [(name, types.get(name, "")) for name in code.removeprefix("return ").split(", ")]
        elif code.startswith("update "):
            variable, _, value = code.removeprefix("update ").partition(" = ")
            updates.append((variable, value, types.get(value, "")))
        elif ": " in code:
            name, _, rest = code.partition(": ")
            types[name] = rest.split(" = ")[0]
    return outputs, updates


def _row(title, items):
    return f"<li><b>{title}</b> {', '.join(items)}</li>" if items else ""


def kernel(name, target, schedule, lines, source):
    """A kernel, its text folded."""
    return (f"<details><summary><b>{escape(name)}</b> {escape(target)} <code>{escape(schedule)}</code>"
            f'{_quiet(", ".join(lines))}</summary><pre style="{_CODE}">{escape(source)}</pre></details>')


def function_html(f):
    """A function: inputs and outputs, its graph after rewriting, and its kernels, whose text can be unfolded."""
    graph = f.graph().rstrip()
    outputs, updates = results_of(graph)
    inputs = [f"{escape(x.name or '_')} <code>{escape(x.type)}</code>" for x in f.inputs]
    kernels = [kernel(k.name, k.target, k.schedule, k.lines, k.source) for k in f.kernels()]
    return _box(
        f"<b>{escape(f.name)}</b><ul>"
        + _row("inputs", inputs)
        + _row("outputs", [f"{escape(name)} <code>{escape(type)}</code>" for name, type in outputs])
        + _row("updates", [f"{escape(x)} = {escape(name)} <code>{escape(type)}</code>" for x, name, type in updates])
        + f'</ul><details open><summary>graph</summary><pre style="{_CODE}">{escape(graph)}</pre></details>'
        + f"<p>{len(kernels)} kernel{'' if len(kernels) == 1 else 's'}</p>" + "".join(kernels))
