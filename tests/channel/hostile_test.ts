/**
 * Messages of a side that is broken or wants to break us. Each is refused with a typed error, the connection is closed, and
 * there are as many fds, mappings and objects as before.
 */
import { assert, assertEquals } from "@std/assert";
import { host, InteropError } from "../../mod.ts";
import { listen } from "../../src/channel/mod.ts";
import { until } from "../conformance/bytes.ts";
import { temporaryPath, withNothingLeft } from "./help.ts";
import * as raw from "./raw.ts";

/** What is sent. Its fds are the sender's, which are closed at the end. */
interface Sent {
  readonly bytes: Uint8Array;
  readonly fds?: readonly number[];
}

/** One case. */
interface Hostile {
  /** What arrives; several packets where the last one is at fault. */
  readonly send: () => Sent | readonly Sent[];
  /** The part that the error names. */
  readonly names: RegExp;
  /** It ends right after that. */
  readonly hangsUp?: true;
  /** The native function that this process has no room for, where that shows it. */
  readonly lacks?: string;
}

const PAGE = 4096;

/** A body that is right; `over` says otherwise. */
function body(over: object = {}): object {
  return {
    memory: "memfd",
    access: "read",
    sync: "done",
    objects: [{ offset: 0, byteLength: PAGE }],
    planes: [{ dtype: "u8", shape: [64, 64], strides: [64, 1], byteOffset: 0 }],
    ...over,
  };
}

const UUID = "00112233445566778899aabbccddeeff";

/** A body that is right, of a device's memory by an opaque fd. */
function opaque(over: object = {}): object {
  return body({ memory: "opaque-fd", device: UUID, objects: opaqueObjects(), ...over });
}

function opaqueObjects(over: object = {}): object[] {
  return [{ offset: 0, byteLength: PAGE, memory: { byteLength: PAGE, dedicated: false, identity: "7", ...over } }];
}

/** A plane that is right. */
function plane(over: object = {}): object {
  return { dtype: "u8", shape: [64, 64], strides: [64, 1], byteOffset: 0, ...over };
}

/** A picture of 64 × 64 in NV12, in one object. */
function picture(over: object = {}, planes: readonly object[] = nv12Planes()): object {
  return body({
    objects: [{ offset: 0, byteLength: 6144 }],
    planes,
    image: { fourcc: 0x3231564e, width: 64, height: 64, modifier: "0", ...over },
  });
}

/** A picture with one dictionary of metadata. */
function known(name: string, fields: object): object {
  return { ...picture(), metadata: [{ name, fields }] };
}

function nv12Planes(second: object = {}): object[] {
  return [plane(), plane({ shape: [32, 32, 2], strides: [64, 2, 1], byteOffset: PAGE, ...second })];
}

/** A message's bytes, with the header that belongs to them; `header` says otherwise. */
function message(json: unknown, header: Partial<Record<keyof typeof FIELDS, number>> = {}, fds = 1): Uint8Array {
  const text = typeof json === "string" ? new TextEncoder().encode(json) : encoded(json);
  const bytes = new Uint8Array(16 + text.length);
  const view = new DataView(bytes.buffer);
  const right = { magic: 0x65676170, version: 2, kind: 1, fds, length: text.length, reserved: 0 };
  for (const [name, set] of Object.entries(FIELDS)) set(view, { ...right, ...header }[name as keyof typeof FIELDS]);
  bytes.set(text, 16);
  return bytes;
}

const FIELDS = {
  magic: (view: DataView, value: number) => view.setUint32(0, value, true),
  version: (view: DataView, value: number) => view.setUint8(4, value),
  kind: (view: DataView, value: number) => view.setUint8(5, value),
  fds: (view: DataView, value: number) => view.setUint16(6, value, true),
  length: (view: DataView, value: number) => view.setUint32(8, value, true),
  reserved: (view: DataView, value: number) => view.setUint32(12, value, true),
};

function encoded(json: unknown): Uint8Array {
  return json instanceof Uint8Array ? json : new TextEncoder().encode(JSON.stringify(json));
}

/** A message about one sealed memfd of a page. */
const about = (json: unknown, header = {}) => (): Sent => ({ bytes: message(json, header), fds: [raw.memfd(PAGE)] });

/** A right message with another fd than a memfd. */
const with_ = (fd: () => number) => (): Sent => ({ bytes: message(body()), fds: [fd()] });

/** The text of a right body, changed. */
const text = (from: string, to: string) => {
  const right = JSON.stringify(body());
  assert(right.includes(from), from);
  return right.replace(from, to);
};

/** Sound in 64 planes, each in a part of one memfd that is described by an object of its own. */
function sound(fds: number): Sent {
  const fd = raw.memfd(64 * PAGE);
  const objects = Array.from({ length: 64 }, (_, i) => ({ offset: i * PAGE, byteLength: PAGE }));
  const planes = objects.map(() => plane({ shape: [PAGE], strides: [1] }));
  const audio = { format: "u8", sampleRate: 48_000, channels: 64, samples: PAGE, layout: "planar" };
  return { bytes: message(body({ objects, planes, audio }), {}, 64), fds: Array<number>(fds).fill(fd) };
}

const MALFORMED: Readonly<Record<string, Hostile>> = {
  "an empty message": { send: () => ({ bytes: new Uint8Array(0) }), names: /message/ },
  "an empty message with an fd": {
    send: () => ({ bytes: new Uint8Array(0), fds: [raw.memfd(PAGE)] }),
    names: /message/,
  },
  "an empty message with an fd, and the end": {
    send: () => ({ bytes: new Uint8Array(0), fds: [raw.memfd(PAGE)] }),
    names: /message/,
    hangsUp: true,
  },
  "one byte at a time": {
    send: () => [...message(body())].map((byte) => ({ bytes: Uint8Array.of(byte) })),
    names: /header/,
  },
  "half a header": { send: () => ({ bytes: message(body()).slice(0, 8), fds: [raw.memfd(PAGE)] }), names: /header/ },
  "a header alone": { send: about(""), names: /body/ },
  "another magic": { send: about(body(), { magic: 0x45474150 }), names: /magic/ },
  "version 1": { send: about(body(), { version: 1 }), names: /version/ },
  "version 0": { send: about(body(), { version: 0 }), names: /version/ },
  "version 255": { send: about(body(), { version: 255 }), names: /version/ },
  "an unknown kind": { send: about(body(), { kind: 200 }), names: /kind/ },
  "a reserved field that is used": { send: about(body(), { reserved: 1 }), names: /reserved/ },
  "a length that is too short": { send: about(body(), { length: 3 }), names: /length/ },
  "a length of 4 GiB": { send: about(body(), { length: 0xffff_ffff }), names: /length/ },
  "two messages in one packet": {
    send: () => ({ bytes: Uint8Array.of(...message(body()), ...message(body())), fds: [raw.memfd(PAGE)] }),
    names: /length/,
  },
  "a message of 80,000 bytes": {
    send: () => ({ bytes: message(`"${"x".repeat(80_000)}"`), fds: [raw.memfd(PAGE)] }),
    names: /message/,
  },
  "half a message": {
    send: () => ({ bytes: message(body()).slice(0, 60), fds: [raw.memfd(PAGE)] }),
    names: /length/,
  },
  "65,535 fds by the header": { send: about(body(), { fds: 65_535 }), names: /fds/ },
  "an fd more than the header says": {
    send: () => ({ bytes: message(body()), fds: [raw.memfd(PAGE), raw.memfd(PAGE)] }),
    names: /fds/,
  },
  "an fd less than the header says": { send: () => ({ bytes: message(body()) }), names: /fds/ },
  "253 fds": {
    send: () => ({ bytes: message(body(), {}, 253), fds: Array<number>(253).fill(raw.memfd(PAGE)) }),
    names: /fds/,
  },
  "65 fds, of which the header says 64": { send: () => sound(65), names: /fds/ },
  "no JSON": { send: about("{"), names: /body/ },
  "bytes that are not UTF-8": { send: about(Uint8Array.of(0x22, 0xff, 0x22)), names: /body/ },
  "a name that is not UTF-8": {
    send: about(encoded(known("source", { stream: "~" })).map((byte) => byte === 0x7e ? 0xff : byte)),
    names: /body/,
  },
  "a byte order mark": { send: about(`\ufeff${JSON.stringify(body())}`), names: /body/ },
  "arrays in arrays, 8,000 deep": { send: about("[".repeat(8000) + "]".repeat(8000)), names: /body/ },
  "objects in objects, 2,500 deep": { send: about('{"a":'.repeat(2500) + "1" + "}".repeat(2500)), names: /body/ },
  "null": { send: about(null), names: /body/ },
  "an array": { send: about([body()]), names: /body/ },
  "a property twice": { send: about(text('"access":"read"', '"access":"read","access":"read-write"')), names: /body/ },
  "a property more": { send: about(body({ extra: 1 })), names: /body/ },
  "__proto__": { send: about(text('"memory"', '"__proto__":{"memory":"memfd"},"memory"')), names: /body/ },
  "__proto__ in a plane": { send: about(text('"dtype"', '"__proto__":{},"dtype"')), names: /planes\[0\]/ },
  "1e999": { send: about(text("4096", "1e999")), names: /body/ },
  "2^53 + 1": { send: about(text("4096", "9007199254740993")), names: /body/ },
  "2^53": { send: about(text("4096", "9007199254740992")), names: /byteLength$/ },
  "-0": { send: about(text('"offset":0', '"offset":-0')), names: /body/ },
  "a fraction": { send: about(body({ objects: [{ offset: 0.5, byteLength: PAGE }] })), names: /objects\[0\]\.offset/ },
  "a number as a string": { send: about(body({ objects: [{ offset: "0", byteLength: PAGE }] })), names: /offset/ },
  "a lone surrogate": { send: about(text('"memfd"', '"\\ud800"')), names: /memory/ },
  "no planes": { send: about(body({ planes: [] })), names: /planes/ },
  "a million planes would be too long; 65 are too many": {
    send: about(body({ planes: Array(65).fill(plane({ shape: [1], strides: [1] })) })),
    names: /planes/,
  },
  "a tensor of two planes": {
    send: about(body({ planes: [plane({ shape: [32, 64] }), plane({ shape: [32, 64], byteOffset: 2048 })] })),
    names: /planes/,
  },
  "a negative offset of a plane": { send: about(body({ planes: [plane({ byteOffset: -64 })] })), names: /byteOffset/ },
  "33 dimensions": {
    send: about(body({ planes: [plane({ shape: Array(33).fill(1), strides: Array(33).fill(1) })] })),
    names: /shape/,
  },
  "a dimension of 0": { send: about(body({ planes: [plane({ shape: [0, 64] })] })), names: /shape/ },
  "an unknown dtype": { send: about(body({ planes: [plane({ dtype: "constructor" })] })), names: /dtype/ },
  "a modifier of 65 bits": {
    send: about(picture({ modifier: "18446744073709551616" })),
    names: /modifier/,
  },
  "a modifier with a zero in front": { send: about(picture({ modifier: "00" })), names: /modifier/ },
  "a number that JSON has": { send: about(known("tilt", { degrees: { number: "1" } })), names: /degrees/ },
  "a value of two forms": { send: about(known("tilt", { degrees: { number: "-0", int: "0" } })), names: /degrees/ },
  "a time of minus zero": { send: about(known("timestamp", { pts: { int: "-0" } })), names: /pts/ },
  "a name with half of a character": {
    send: about(known("source", { stream: "\ud800" })),
    names: /metadata\[0\]/,
  },
  "a modifier as a number": { send: about(picture({ modifier: 0 })), names: /modifier/ },
  "a picture that is sound too": {
    send: about({ ...picture(), audio: { format: "f32", sampleRate: 1, channels: 1, samples: 1, layout: "planar" } }),
    names: /body/,
  },
  "an fd that is not ready": { send: about(body({ sync: "later" })), names: /sync/ },
  "media of a tensor": { send: about(body({ media: {} })), names: /media/ },
  "media that is a list": { send: about({ ...picture(), media: [] }), names: /media/ },
  "an unknown fact of media": { send: about({ ...picture(), media: { colour: "red" } }), names: /media/ },
  "a time of media that is a number": { send: about({ ...picture(), media: { pts: 5 } }), names: /media/ },
  "a time of media with 65 bits": {
    send: about({ ...picture(), media: { pts: { int: `${2n ** 64n}` } } }),
    names: /media/,
  },
  "a ratio of media with three parts": {
    send: about({ ...picture(), media: { timeBase: [1, 2, 3] } }),
    names: /media/,
  },
  "media with a name of a prototype": {
    send: about(
      JSON.parse(JSON.stringify({ ...picture(), media: 0 }).replace('"media":0', '"media":{"__proto__":{}}')),
    ),
    names: /media/,
  },
  "metadata of a tensor": { send: about(body({ metadata: [] })), names: /metadata/ },
  "a name of 300 characters": {
    send: about(known("x".repeat(300), {})),
    names: /name/,
  },
  "metadata that is not a list": { send: about({ ...picture(), metadata: {} }), names: /metadata/ },
  "a dictionary that is a list": { send: about(known("mine", [])), names: /fields/ },
  "a dictionary with a property more": {
    send: about({ ...picture(), metadata: [{ name: "mine", fields: {}, more: 1 }] }),
    names: /metadata\[0\]/,
  },
  "a dictionary without a name": { send: about({ ...picture(), metadata: [{ fields: {} }] }), names: /name/ },
  "a known key of another type": { send: about(known("timestamp", { pts: 5 })), names: /metadata\[0\]/ },
  "a number that is a bigint": {
    send: about(known("detection", { xMin: { int: "0" }, yMin: 0, xMax: 1, yMax: 1 })),
    names: /metadata\[0\]/,
  },
  "a detection without its corners": { send: about(known("detection", { label: "cat" })), names: /metadata\[0\]/ },
  "a bigint of 65 bits": { send: about(known("mine", { big: { int: `${2n ** 64n}` } })), names: /big/ },
  "an object in a dictionary": { send: about(known("mine", { inner: { a: 1 } })), names: /inner/ },
  "a value of two kinds": { send: about(known("mine", { two: { int: "1", bytes: "" } })), names: /two/ },
  "bytes that are not base64": { send: about(known("mine", { raw: { bytes: "*" } })), names: /raw/ },
  "bytes without their padding": { send: about(known("mine", { raw: { bytes: "AQI" } })), names: /raw/ },
  "bytes with white space": { send: about(known("mine", { raw: { bytes: "AQ I=" } })), names: /raw/ },
  "null in a dictionary": { send: about(known("mine", { nothing: null })), names: /metadata\[0\]|nothing/ },
  "lists in lists, 3,000 deep": {
    send: about(JSON.stringify(known("mine", { deep: "~" })).replace('"~"', "[".repeat(3000) + "]".repeat(3000))),
    names: /metadata\[0\]/,
  },
  "1,025 dictionaries": {
    send: about({ ...picture(), metadata: Array(1025).fill(0) }),
    names: /metadata/,
  },
};

const LIES: Readonly<Record<string, Hostile>> = {
  "more bytes than the memfd has": {
    send: about(body({ objects: [{ offset: 0, byteLength: 2 * PAGE }] })),
    names: /objects/,
  },
  "an offset at the end of the memfd": {
    send: about(body({ objects: [{ offset: PAGE, byteLength: PAGE }] })),
    names: /objects/,
  },
  "an object of no length": {
    send: about(body({ objects: [{ offset: 0, byteLength: 0 }] })),
    names: /objects\[0\]\.byteLength/,
  },
  "three planes in two objects": {
    send: () => {
      const half = (byteOffset: number) => plane({ shape: [32, 32], strides: [32, 1], byteOffset });
      const objects = [{ offset: 0, byteLength: PAGE }, { offset: 0, byteLength: PAGE }];
      const json = { ...picture({ fourcc: 0x32315559 }, [plane(), half(0), half(1024)]), objects };
      return { bytes: message(json, {}, 2), fds: [raw.memfd(PAGE), raw.memfd(PAGE)] };
    },
    names: /objects/,
  },
  "an offset that would overflow with the length": {
    send: about(body({ objects: [{ offset: 2 ** 53 - 1, byteLength: PAGE }] })),
    names: /objects\[0\]/,
  },
  "a plane beyond its object": { send: about(body({ planes: [plane({ byteOffset: 1 })] })), names: /planes\[0\]/ },
  "strides that reach beyond the object": {
    send: about(body({ planes: [plane({ strides: [65, 1] })] })),
    names: /planes/,
  },
  "strides that overflow 2^53": {
    send: about(body({ planes: [plane({ shape: [2 ** 30, 2], strides: [2 ** 30, 1] })] })),
    names: /planes\[0\]/,
  },
  "a shape whose product overflows": {
    send: about(body({ planes: [plane({ shape: [2 ** 52, 2 ** 52], strides: [1, 1] })] })),
    names: /planes\[0\]/,
  },
  "elements that overlap": { send: about(body({ planes: [plane({ strides: [1, 1] })] })), names: /planes\[0\]/ },
  "planes that overlap": { send: about(picture({}, nv12Planes({ byteOffset: PAGE - 64 }))), names: /planes/ },
  "a plane less than the format has": { send: about(picture({}, [plane()])), names: /planes/ },
  "planes of another dtype than the picture": {
    send: about(picture({}, [plane({ dtype: "i8" }), nv12Planes()[1]])),
    names: /planes\[0\]/,
  },
  "planes of another size than the picture": { send: about(picture({ width: 128 })), names: /planes\[0\]/ },
  "a picture of 2^52 pixels across": { send: about(picture({ width: 2 ** 52 })), names: /planes/ },
  "an odd width, which NV12 has not": { send: about(picture({ width: 63 })), names: /image/ },
  "an unknown fourcc": { send: about(picture({ fourcc: 0x31323334 })), names: /fourcc/ },
  "65 channels in planes": {
    send: about(body({ audio: { format: "u8", sampleRate: 1, channels: 65, samples: 64, layout: "planar" } })),
    names: /audio/,
  },
  "a pipe": {
    send: () => {
      const [read, write] = raw.pipe();
      raw.close(write);
      return { bytes: message(body()), fds: [read] };
    },
    names: /objects/,
  },
  "a regular file": { send: with_(() => raw.openFile(Deno.execPath(), raw.OPEN.read)), names: /objects/ },
  "a directory": { send: with_(() => raw.openFile("/", raw.OPEN.read)), names: /objects/ },
  "a device": { send: with_(() => raw.openFile("/dev/zero", raw.OPEN.readWrite)), names: /objects/ },
  "a file in /proc": { send: with_(() => raw.openFile("/proc/self/mem", raw.OPEN.readWrite)), names: /objects/ },
  "an fd that only names a file": { send: with_(() => raw.openFile(Deno.execPath(), raw.OPEN.path)), names: /objects/ },
  "a socket": { send: with_(raw.socket), names: /objects/ },
  "an eventfd": { send: with_(raw.eventfd), names: /objects/ },
  "an epoll fd": { send: with_(raw.epoll), names: /objects/ },
  "a file of a shared memory folder": { send: with_(shmFile), names: /objects/ },
  "a memfd that may shrink": { send: with_(() => raw.memfd(PAGE, raw.SEALS.grow)), names: /objects/ },
  "a memfd that was shrunk after it was sent": {
    send: () => {
      const fd = raw.memfd(PAGE, 0);
      queueMicrotask(() => raw.resize(fd, 0));
      return { bytes: message(body()), fds: [fd] };
    },
    names: /objects/,
  },
  "a memfd of 4 EiB, of which a page is meant": {
    send: with_(() => raw.memfd(2 ** 62)),
    names: /objects/,
  },
  "a memfd of 4 PiB, all of which is meant": {
    send: () => {
      const objects = [{ offset: 0, byteLength: 2 ** 52 }];
      const planes = [plane({ shape: [2 ** 40, 4096], strides: [4096, 1] })];
      return { bytes: message(body({ objects, planes })), fds: [raw.memfd(2 ** 52)] };
    },
    names: /^$/,
    lacks: "mmap",
  },
  "an empty memfd": { send: with_(() => raw.memfd(0)), names: /objects/ },
  "a memfd that is a byte too short": { send: with_(() => raw.memfd(PAGE - 1)), names: /objects/ },
  "writing into a memfd that is sealed": {
    send: () => ({
      bytes: message(body({ access: "read-write" })),
      fds: [raw.memfd(PAGE, raw.SEALS.shrink | raw.SEALS.write)],
    }),
    names: /objects/,
  },
  "writing through an fd that can only be read": {
    send: () => {
      const fd = raw.memfd(PAGE);
      const reading = raw.openFile(`/proc/self/fd/${fd}`, raw.OPEN.read);
      raw.close(fd);
      return { bytes: message(body({ access: "write" })), fds: [reading] };
    },
    names: /objects/,
  },
  "a memfd as a dma-buf": { send: about(body({ memory: "dma-buf" })), names: /memory/ },
  "an unknown kind of memory": { send: about(body({ memory: "cuda-ipc" })), names: /memory/ },
  "memory of a device that this process does not have": { send: about(opaque()), names: /memory/ },
  "memory of a device that is not named": { send: about(opaque({ device: undefined })), names: /device/ },
  "memory of a device whose UUID is none": { send: about(opaque({ device: "GPU-0" })), names: /device/ },
  "memory of a device whose UUID is too short": { send: about(opaque({ device: UUID.slice(1) })), names: /device/ },
  "memory of a device whose UUID is in capitals": {
    send: about(opaque({ device: UUID.toUpperCase() })),
    names: /device/,
  },
  "a memfd of a device": { send: about(body({ device: UUID })), names: /device/ },
  "memory of a device about which nothing is said": {
    send: about(opaque({ objects: [{ offset: 0, byteLength: PAGE }] })),
    names: /memory/,
  },
  "a memfd with what is said of a device's memory": {
    send: about(body({ objects: opaqueObjects() })),
    names: /memory/,
  },
  "a part that ends behind a device's memory": {
    send: about(opaque({ objects: opaqueObjects({ byteLength: PAGE - 1 }) })),
    names: /objects/,
  },
  "a part that begins behind a device's memory": {
    send: about(opaque({ objects: [{ ...opaqueObjects()[0], offset: 1 }] })),
    names: /objects\[0\]$/,
  },
  "a device's memory with one property too many": {
    send: about(opaque({ objects: opaqueObjects({ handle: "7" }) })),
    names: /objects\[0\]\.memory$/,
  },
  "a device's memory that nothing tells from others": {
    send: about(opaque({ objects: opaqueObjects({ identity: undefined }) })),
    names: /identity/,
  },
  "a device's memory of no length": {
    send: about(opaque({ objects: opaqueObjects({ byteLength: 0 }) })),
    names: /byteLength/,
  },
  "a device's memory of half a type": { send: about(opaque({ objects: opaqueObjects({ type: 0.5 }) })), names: /type/ },
  "a device's memory that may be dedicated": {
    send: about(opaque({ objects: opaqueObjects({ dedicated: 1 }) })),
    names: /dedicated/,
  },
  "a device's memory by a number that is not a text": {
    send: about(opaque({ objects: opaqueObjects({ identity: 7 }) })),
    names: /identity/,
  },
  "two objects that are one memory": {
    send: () => {
      const fd = raw.memfd(8192);
      const objects = [{ offset: 0, byteLength: PAGE }, { offset: 2048, byteLength: 2048 }];
      const json = { ...picture({}, nv12Planes({ byteOffset: 0 })), objects };
      return { bytes: message(json, {}, 2), fds: [fd, fd] };
    },
    names: /objects/,
  },
  "a description of one fd beside two": {
    send: () => ({ bytes: message(body(), {}, 2), fds: [raw.memfd(PAGE), raw.memfd(PAGE)] }),
    names: /objects/,
  },
  "a description of two fds beside one": {
    send: about(body({ objects: Array(2).fill({ offset: 0, byteLength: PAGE }) })),
    names: /objects/,
  },
  "a second plane's object that is not a memfd": {
    send: () => {
      const objects = [{ offset: 0, byteLength: PAGE }, { offset: 0, byteLength: 2048 }];
      const json = { ...picture({}, nv12Planes({ byteOffset: 0 })), objects };
      return { bytes: message(json, {}, 2), fds: [raw.memfd(PAGE), raw.openFile("/etc/passwd", raw.OPEN.read)] };
    },
    names: /objects/,
  },
};

/** A file of tmpfs, which is what memfds are files of too. */
function shmFile(): number {
  const path = `/dev/shm/samepage-${crypto.randomUUID()}`;
  Deno.writeFileSync(path, new Uint8Array(PAGE));
  try {
    return raw.openFile(path, raw.OPEN.readWrite);
  } finally {
    Deno.removeSync(path);
  }
}

for (const [name, { send, names, hangsUp, lacks }] of Object.entries({ ...MALFORMED, ...LIES })) {
  Deno.test(`channel: refused: ${name}`, () =>
    withNothingLeft(async () => {
      await using at = await temporaryPath();
      using server = listen(at.path, { contexts: [host] });
      using enemy = new DisposableStack();
      using ending = new DisposableStack();
      const socket = ending.adopt(raw.connectRaw(at.path), raw.close);
      using peer = await server.accept();
      const packets = [send()].flat();
      const fds = new Set(packets.flatMap(({ fds = [] }) => fds));
      for (const fd of fds) enemy.adopt(fd, raw.close);
      for (const { bytes, fds } of packets) raw.sendRaw(socket, bytes, fds);
      if (hangsUp) ending.dispose();
      await Promise.resolve();
      const error = await peer.receive().then((frame) => frame ?? "the end", (error: unknown) => error);
      assert(error instanceof InteropError, `expected an error, got ${error}`);
      assertEquals(
        [error.name, error.fn],
        lacks ? ["ArgumentError", lacks] : ["MessageError", undefined],
        `${error}`,
      );
      assert(names.test(error.argument ?? ""), `${error.argument}: ${error}`);
      assert(hangsUp || await until(() => raw.isClosed(socket)), "the connection is open");
      assertEquals(peer.resource.isLive, false);
    }));
}

Deno.test("channel: refused: at least 40 messages, 20 of them well-formed", () => {
  assert(Object.keys(MALFORMED).length + Object.keys(LIES).length >= 40);
  assert(Object.keys(LIES).length >= 20);
});

Deno.test("channel: what the hostile messages are made of is accepted where it is right", () =>
  withNothingLeft(async () => {
    await using at = await temporaryPath();
    using server = listen(at.path, { contexts: [host] });
    using enemy = new DisposableStack();
    const socket = enemy.adopt(raw.connectRaw(at.path), raw.close);
    using peer = await server.accept();
    const right = [body(), picture()].map((json): Sent => ({ bytes: message(json), fds: [raw.memfd(2 * PAGE)] }));
    for (const { bytes, fds } of [...right, sound(64)]) {
      for (const fd of new Set(fds)) enemy.adopt(fd, raw.close);
      raw.sendRaw(socket, bytes, fds);
      using received = await peer.receive();
      assert(received !== undefined);
    }
  }));
