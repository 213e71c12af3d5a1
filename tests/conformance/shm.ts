import { MapperGraph } from "../../mod.ts";
import { host } from "../../src/host/mod.ts";
import { bytesAt } from "./bytes.ts";
import { hostEnd, memfdFor } from "./host_end.ts";
import type { Candidate, End, Subject } from "./subject.ts";
import { ShmContext, type ShmTensor } from "./template/memory/backend.ts";

/** The edges of the template for memory without commands, or of a copy of it with a fault. */
export function shm(Context: new () => ShmContext = ShmContext): Candidate[] {
  return [
    { edge: "host→shm", covered: true, open: () => opened(Context, true) },
    { edge: "shm→host", covered: true, open: () => opened(Context, false) },
  ];
}

function opened(Context: new () => ShmContext, fromHost: boolean): Subject {
  using made = new DisposableStack();
  const [one, other] = [0, 1].map(() => made.use(new Context()));
  const graph = made.use(new MapperGraph([host, one, other]));
  const kept = made.move();
  return {
    graph,
    source: fromHost ? hostEnd : endOf(one),
    target: fromHost ? endOf(one) : hostEnd,
    elsewhere: fromHost ? endOf(other) : hostEnd,
    expected: "alias",
    withoutCalls: true,
    openContext: () => new Context(),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

function endOf(target: ShmContext): End {
  return {
    target,
    allocate: (init) => target.allocate(init),
    allocateFrame: (info) => target.allocateFrame(info),
    foreign: () => memfdFor((fd, length, options) => target.attach(fd, { shape: [length], dtype: "u8" }, options)),
    // deno-lint-ignore require-await -- what it throws is a rejection, as at every end
    write: async (tensor, bytes) => (tensor as ShmTensor).write(bytes),
    // deno-lint-ignore require-await
    read: async (tensor) => (tensor as ShmTensor).read(),
    raw: {
      write(tensor, bytes) {
        look(tensor as ShmTensor).set(bytes);
        return () => Promise.resolve();
      },
      read: (tensor) => Promise.resolve(look(tensor as ShmTensor).slice()),
      look: (tensor) => look(tensor as ShmTensor),
    },
  };
}

function look({ address, layout }: ShmTensor): Uint8Array {
  return bytesAt(address, layout.byteLength);
}
