// Random programs over UCX, against a model: parts of the host's memory and of CUDA's, read and written as another process does.

import { assertEquals } from "@std/assert";
import { host, type HostTensor, type Tensor } from "../../mod.ts";
import type { CudaContext, CudaTensor } from "../../src/cuda/mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { numbers } from "../random.ts";
import { CUDA_TRANSPORTS, KINDS, missingCuda } from "./cuda_help.ts";
import { TRANSPORTS, ucxTest } from "./help.ts";

const PROGRAMS = Number(Deno.env.get("SAMEPAGE_PROGRAMS") ?? 20);
const [STEPS, TENSORS] = [60, 4];
const LENGTHS = [1, 77, 4096, 20_001, 300_000];

for (const transport of TRANSPORTS) {
  ucxTest(`${PROGRAMS} random programs over ${transport} hold what a model holds`, () => run([transport]));
}

for (const transports of CUDA_TRANSPORTS) {
  const name = `${PROGRAMS} random programs over ${transports.join(", ")} hold what a model holds`;
  gpuTest(name, () => withCuda((cuda) => run(transports, cuda)), 1, missingCuda);
}

/** A part of some memory, and what it should hold. */
interface Held {
  readonly part: Tensor;
  readonly model: Uint8Array<ArrayBuffer>;
}

async function run(transports: readonly string[], cuda?: CudaContext): Promise<void> {
  for (let seed = 1; seed <= PROGRAMS; seed++) await new Program(transports, numbers(seed), cuda).run();
}

class Program {
  readonly #transports: readonly string[];
  readonly #random: (below: number) => number;
  readonly #cuda: CudaContext | undefined;
  readonly #length: number;

  constructor(transports: readonly string[], random: (below: number) => number, cuda: CudaContext | undefined) {
    this.#transports = transports;
    this.#random = random;
    this.#cuda = cuda;
    this.#length = this.#pick(LENGTHS);
  }

  async run(): Promise<void> {
    const random = this.#random;
    await using memory = new AsyncDisposableStack();
    const [theirs, ours] = [await this.#several(memory), await this.#several(memory)];
    this.#cuda?.stream.finish(); // a share does not wait for it
    await using owner = UcxContext.open({ transports: this.#transports });
    await using reader = UcxContext.open({ transports: this.#transports });
    await using share = owner.share(theirs.map(({ part }) => part), { access: "read-write" });
    await using remote = reader.connect(share.ticket);
    for (let step = 0; step < STEPS; step++) {
      const [at, here] = [random(TENSORS), this.#pick(ours)];
      const there = theirs[at];
      if (random(3) === 0) {
        await this.#fill(here, random(256));
      } else if (random(2) === 0) {
        remote.tensors[at].get(here.part);
        here.model.set(there.model);
      } else {
        remote.tensors[at].put(here.part);
        there.model.set(here.model);
      }
      if (random(5) === 0) await this.#check(here);
    }
    await remote.fence();
    for (const one of [...ours, ...theirs]) await this.#check(one);
  }

  async #several(memory: AsyncDisposableStack): Promise<readonly Held[]> {
    const all: Held[] = [];
    while (all.length < TENSORS) {
      const init = { shape: [this.#length + 200], dtype: "u8" } as const;
      const kind = this.#pick(["host", ...this.#cuda === undefined ? [] : Object.keys(KINDS)]);
      const whole = memory.use(kind === "host" ? host.allocate(init) : KINDS[kind](this.#cuda!, init));
      const byteOffset = whole.layout.byteOffset + this.#random(100);
      const part = memory.use(whole.slice({ shape: [this.#length], dtype: "u8", byteOffset }));
      const one = { part, model: new Uint8Array(this.#length) };
      await this.#fill(one, all.length);
      all.push(one);
    }
    return all;
  }

  async #fill({ part, model }: Held, value: number): Promise<void> {
    model.fill(value);
    if (part.target !== host) return this.#cuda!.stream.fill(part as CudaTensor, value);
    await part.finished();
    (part as HostTensor).bytes().fill(value);
  }

  async #check({ part, model }: Held): Promise<void> {
    const bytes = new Uint8Array(model.length);
    if (part.target === host) {
      await part.finished();
      bytes.set((part as HostTensor).bytes());
    } else this.#cuda!.stream.read(part as CudaTensor, bytes);
    assertEquals(bytes.findIndex((byte, i) => byte !== model[i]), -1, `${part.name}: a wrong byte`);
  }

  #pick<T>(all: readonly T[]): T {
    return all[this.#random(all.length)];
  }
}
