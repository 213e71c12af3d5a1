/** The part that is written in Python: all that needs no function of C. */
export const HELPER = `
import __main__, ast, importlib, linecache, os, sys, threading, traceback

none = None
types = [type(None), bool, int, float, str, bytes, list, tuple, dict]
str = str

for stream in (sys.stdout, sys.stderr):  # nothing flushes them when the process ends
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(line_buffering=True)

def settle(home, path):
    sys.path[:0] = [folder for folder in path if folder not in sys.path]
    return sys.prefix if home is None or os.path.exists(home) and os.path.samefile(sys.prefix, home) else None

def describe(error, trace):
    while trace and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    kind = type(error)
    where = kind.__module__
    name = kind.__qualname__ if where in ("builtins", "__main__") else where + "." + kind.__qualname__
    try:
        said = str(error)
    except Exception:
        said = ""
    return "\\0".join([name, said, "".join(traceback.format_exception(kind, error, trace)[-4:])])

def plain(value):
    for kind in (int, float, str, bytes, list, tuple, dict):
        if isinstance(value, kind):
            return kind(value)
    if any(kind.__module__ == "numpy" and kind.__name__ == "generic" for kind in type(value).__mro__):
        return value.item()
    return value

def items(value):
    return list(value.items()) if all(type(key) is str for key in value) else None

def run(code, values):
    names = vars(__main__)
    before = {name: names[name] for name in values if name in names}
    linecache.cache["<run>"] = len(code), None, code.splitlines(True), "<run>"
    tree = ast.parse(code, "<run>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    names.update(values)
    try:
        exec(compile(tree, "<run>", "exec"), names)
        return last and eval(compile(ast.Expression(last.value), "<run>", "eval"), names)
    finally:
        for name in values:
            names.pop(name, None)
        names.update(before)

def start(done, function, arguments):
    box = []
    def work():
        nonlocal function, arguments
        try:
            box.append((function(*arguments), None))
        except BaseException as error:
            box.append((None, error))
        function = arguments = None
        done[0] = 1
    threading.Thread(target=work, name="samepage", daemon=True).start()
    return box

def finish(done, box):
    done.release()
    result, error = box.pop()
    try:
        if error is not None:
            raise error
        return result
    finally:
        error = None

def giver(module, kind, ordinal, version, ordered):
    module = importlib.import_module(module)
    consumer = module.from_dlpack
    device = kind, ordinal
    has_order = kind != 1 and ordered != "any"
    # PyTorch takes a bare capsule too, in a sixth of the time, and has a function for its current stream (Triton calls it).
    current = getattr(getattr(module, "_C", None), "_cuda_getCurrentRawStream", None) if has_order else None
    takes_capsules = False  # until it has taken one tensor, it may request another version

    class Lent:
        __slots__ = "capsule", "asked"

        def __dlpack_device__(self):
            return device

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            if self.capsule is None or copy or dl_device is not None and dl_device != device:
                raise BufferError("samepage lends a tensor once, where it is, and in place")
            known = int(max_version is not None and max_version[0] > 0)
            if known != version or has_order and stream != ordered:
                self.asked = known, stream if has_order else ordered
                raise BufferError("samepage lends it again, as it was asked for")
            return self.capsule

    def give(capsule):
        nonlocal takes_capsules
        if takes_capsules and (current(ordinal) or 1) == ordered:
            return consumer(capsule)
        lent = Lent()
        lent.capsule, lent.asked = capsule, None
        try:
            array = consumer(lent)
            takes_capsules = current is not None
            return array
        except Exception:
            if lent.asked is None:
                raise
            asked[:] = lent.asked
            return asked
        finally:
            lent.capsule = None

    return give

asked = []

def threads():
    return len(sys._current_frames())

def device(array):  # both numbers in one int, which one native call reads
    about = getattr(array, "__dlpack_device__", None)
    kind, ordinal = (0, 0) if about is None else about()
    return int(kind) << 32 | int(ordinal)

def take(array):
    lend = getattr(array, "__dlpack__", None)
    if lend is None:
        return None
    try:
        return lend(max_version=(1, 0))
    except TypeError:
        return lend()

def take_ordered(array):
    try:
        return array.__dlpack__(stream=1, max_version=(1, 0))
    except TypeError:
        return array.__dlpack__(stream=1)
`;
