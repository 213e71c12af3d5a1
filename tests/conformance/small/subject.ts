import { MFD_CLOEXEC } from "../../../ffi/libc/constants.ts";
import { MapperGraph } from "../../../mod.ts";
import { host } from "../../../src/host/mod.ts";
import { cString } from "../../../src/core/native/text.ts";
import { bytesAt } from "../bytes.ts";
import { hostEnd } from "../host_end.ts";
import type { Candidate, End, Subject } from "../subject.ts";
import { type Fault, SmallContext, type SmallTensor } from "./backend.ts";

/** The edges of the small backend. */
export function small(fault?: Fault): Candidate[] {
  return [
    { edge: "host→small", covered: true, open: () => opened(fault, true) },
    { edge: "small→host", covered: true, open: () => opened(fault, false) },
  ];
}

function opened(fault: Fault | undefined, fromHost: boolean): Subject {
  using made = new DisposableStack();
  const [one, other] = [0, 1].map(() => made.use(new SmallContext(fault)));
  const graph = made.use(new MapperGraph([host, one, other]));
  const kept = made.move();
  return {
    graph,
    source: fromHost ? hostEnd : endOf(one),
    target: fromHost ? endOf(one) : hostEnd,
    elsewhere: fromHost ? endOf(other) : hostEnd,
    expected: "alias",
    ...(fault === "has another address for what it maps" ? {} : { withoutCalls: true }),
    openContext: () => new SmallContext(fault),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

function endOf(target: SmallContext): End {
  return {
    target,
    allocate: (init) => target.allocate(init),
    allocateFrame: (info) => target.allocateFrame(info),
    wrap: () => wrapped(target),
    // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
    write: async (tensor, bytes) => (tensor as SmallTensor).write(bytes),
    // deno-lint-ignore require-await
    read: async (tensor) => (tensor as SmallTensor).read(),
    raw: {
      write(tensor, bytes) {
        look(tensor as SmallTensor).set(bytes);
        return () => Promise.resolve();
      },
      read: (tensor) => Promise.resolve(look(tensor as SmallTensor).slice()),
      look: (tensor) => look(tensor as SmallTensor),
    },
  };
}

/** The test's own memfd, wrapped. It is made by calls that do not fail. */
function wrapped(target: SmallContext): Disposable {
  const fd = theirs.memfd_create(cString("theirs"), MFD_CLOEXEC);
  try {
    theirs.ftruncate(fd, 4096n);
    return target.wrap(fd, { shape: [4096], dtype: "u8" });
  } finally {
    theirs.close(fd);
  }
}

const theirs = Deno.dlopen("libc.so.6", {
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  ftruncate: { parameters: ["i32", "i64"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
}).symbols;

function look({ address, layout }: SmallTensor): Uint8Array {
  return bytesAt(address, layout.byteLength);
}
