// Frames from one process to another: `frames.ts WAY SIZE`. It starts the other process itself, which is this file as well.
// bench/harness/serve.ts says how it is asked. "frames" is how long a frame takes, "cpu" what both processes work for it,
// "echo" how long one takes there and back.

import { cpuUsage } from "node:process";
import { fromFileUrl } from "@std/path";
import { type Frame, host, type HostTensor, imageInfo } from "@samepage/interop";
import { FrameRing, type RingReader, type RingWriter } from "@samepage/interop/channel";
import type { Rings } from "@samepage/interop/pipeline";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { UcxContext } from "@samepage/interop/ucx";
import { linesOf } from "../harness/lines.ts";
import type { Operation } from "../harness/operation.ts";
import { serve } from "../harness/serve.ts";

const SIZES = { "1080p": [1920, 1080], small: [64, 48], tiny: [4, 4] } as const;

/** Frames that may be under way. */
const FRAMES = 4;

/** One direction. */
interface Lane {
  /** Sends a frame with this number in its first, middle and last row. */
  send(stamp: number): Promise<void>;
  /** Receives one. Returns the sum of those rows. */
  receive(): Promise<number>;
}

const [way, size, role, folder = Deno.makeTempDirSync()] = Deno.args;
const [width, height] = SIZES[size as keyof typeof SIZES];
const ROWS = [0, height >> 1, height - 1].map((row) => row * width);

function stamp(pixels: Uint32Array, value: number): void {
  for (const row of ROWS) pixels.fill(value, row, row + width);
}

function sum(pixels: Uint32Array): number {
  let total = 0;
  for (const row of ROWS) {
    for (let i = row; i < row + width; i++) total += pixels[i];
  }
  return total;
}

const LANES: Readonly<Record<string, (path: string, sends: boolean) => Promise<Lane>>> = {
  ring: (path, sends) => ring(FrameRing, path, sends),
  "ucx-posix": (path, sends) => ring(ucx("posix"), path, sends),
  "ucx-tcp": (path, sends) => ring(ucx("tcp"), path, sends),
  "ucx-cuda": (path, sends) => onGpu(ucx("posix", "cuda_copy", "cuda_ipc"), path, sends),
  "ucx-cuda-copies": (path, sends) => throughHost(ucx("posix"), path, sends),
  socket: (path, sends) => socket(path, sends, (path) => ({ transport: "unix", path })),
  tcp: (path, sends) =>
    socket(path, sends, () => ({ hostname: "127.0.0.1", port: path.endsWith("out") ? PORT : PORT + 1 })),
};

/** Both processes find it by the folder's name; no other program has it, as a rule. */
const PORT = 20_000 + [...folder].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 10_000, 0);

type Place = (path: string) => Deno.UnixListenOptions & { readonly transport: "unix" } | Deno.TcpListenOptions;

let context: UcxContext | undefined;

function ucx(...transports: readonly string[]): Rings {
  context ??= UcxContext.open({ transports });
  return context.rings({
    listen: (path) => Deno.listen({ transport: "unix", path }),
    connect: (path) => Deno.connect({ transport: "unix", path }),
  });
}

async function ring(rings: Rings, path: string, sends: boolean): Promise<Lane> {
  const pixelsOf = ({ planes: [{ address, layout }] }: Frame<HostTensor>, bytes: Uint8Array<ArrayBuffer>) => {
    if (bytes.length !== layout.byteLength || address === 0n) throw new Error("a frame of another size");
    return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  };
  if (sends) {
    const info = imageInfo({ format: "RGBA", width, height });
    const frames = Array.from({ length: FRAMES }, () => host.allocateFrame(info, { sharable: true }));
    const writer = rings.create(path, { frames }) as unknown as RingWriter<Frame<HostTensor>>;
    return writing(writer, (frame, value) => stamp(pixelsOf(frame, frame.planes[0].bytes()), value));
  }
  const reader = await rings.open(path, { contexts: [host] }) as RingReader<Frame<HostTensor>>;
  return reading(reader, (frame) => sum(pixelsOf(frame, frame.planes[0].bytes())));
}

/** A ring of frames in GPUs' memory. Each is filled whole, and one of its bytes is looked at. */
async function onGpu(rings: Rings, path: string, sends: boolean): Promise<Lane> {
  const cuda = CudaContext.open();
  const info = imageInfo({ format: "RGBA", width, height });
  if (sends) {
    const frames = Array.from({ length: FRAMES }, () => cuda.allocateFrame(info));
    const writer = rings.create(path, { frames }) as unknown as RingWriter<Frame<CudaTensor>>;
    return writing(writer, ({ planes: [plane] }, value) => cuda.stream.fill(plane, value));
  }
  const reader = await rings.open(path, { contexts: [cuda] }) as RingReader<Frame<CudaTensor>>;
  return reading(reader, ({ planes: [plane] }) => middleOf(cuda, plane));
}

/** The same where a ring cannot have a GPU's memory: each side copies between that and a frame of the host's. */
async function throughHost(rings: Rings, path: string, sends: boolean): Promise<Lane> {
  const cuda = CudaContext.open();
  const info = imageInfo({ format: "RGBA", width, height });
  const [picture] = cuda.allocateFrame(info).planes;
  if (sends) {
    const frames = Array.from({ length: FRAMES }, () => host.allocateFrame(info));
    const writer = rings.create(path, { frames }) as unknown as RingWriter<Frame<HostTensor>>;
    return writing(writer, ({ planes: [plane] }, value) => {
      cuda.stream.fill(picture, value);
      cuda.stream.read(picture, plane.bytes());
    });
  }
  const reader = await rings.open(path, { contexts: [host] }) as RingReader<Frame<HostTensor>>;
  return reading(reader, ({ planes: [plane] }) => {
    cuda.stream.write(picture, plane.bytes());
    return middleOf(cuda, picture);
  });
}

const ONE = new Uint8Array(1);

/** The sum that {@link beNear} expects, from the byte in the middle. */
function middleOf(cuda: CudaContext, plane: CudaTensor): number {
  using one = plane.slice({ shape: [1], dtype: "u8", byteOffset: plane.layout.byteOffset + (plane.byteLength >> 1) });
  cuda.stream.read(one as CudaTensor, ONE);
  return ONE[0] * ROWS.length * width;
}

/** The side of a ring that fills its frames. */
function writing<T extends Frame>(writer: RingWriter<T>, fill: (frame: T, value: number) => void): Lane {
  return {
    receive: () => Promise.reject(new Error("it sends")),
    async send(value) {
      if (writer.readers === 0) await writer.joined();
      const frame = await writer.next();
      fill(frame, value);
      await writer.publish(frame);
    },
  };
}

/** The side that looks at them. */
function reading<T extends Frame>(reader: RingReader<T>, look: (frame: T) => number): Lane {
  const frames = reader[Symbol.asyncIterator]();
  return {
    send: () => Promise.reject(new Error("it receives")),
    receive: async () => look((await frames.next()).value!),
  };
}

async function socket(path: string, sends: boolean, place: Place): Promise<Lane> {
  const at = place(path) as Deno.TcpListenOptions;
  const connection = sends ? Deno.listen(at).accept() : Promise.resolve(await Deno.connect(at as Deno.ConnectOptions));
  const pixels = new Uint32Array(width * height);
  const bytes = new Uint8Array(pixels.buffer);
  return {
    async send(value) {
      stamp(pixels, value);
      const to = await connection;
      for (let sent = 0; sent < bytes.length;) sent += await to.write(bytes.subarray(sent));
    },
    async receive() {
      const from = await connection;
      for (let read = 0; read < bytes.length;) read += await from.read(bytes.subarray(read)) ?? NaN;
      return sum(pixels);
    },
  };
}

const microseconds = () => {
  const { user, system } = cpuUsage();
  return user + system;
};

/** The other process: it sends what it is asked for. */
async function beFar(): Promise<void> {
  const out = await LANES[way](`${folder}/out`, true);
  let back: Lane | undefined;
  console.log("listens");
  for await (const line of linesOf(Deno.stdin.readable)) {
    const [what, count] = line.split(" ");
    if (what === "cpu") console.log(microseconds());
    if (what === "frames") { for (let i = 0; i < Number(count); i++) await out.send(i % 256); }
    if (what === "echo") {
      back ??= await LANES[way](`${folder}/back`, false);
      for (let i = 0; i < Number(count); i++) await out.send(await back.receive() / ROWS.length / width);
    }
  }
  Deno.exit();
}

async function beNear(): Promise<void> {
  const args = ["run", "-A", "--no-check", fromFileUrl(import.meta.url), way, size, "far", folder];
  const far = new Deno.Command(Deno.execPath(), { args, stdin: "piped", stdout: "piped" }).spawn();
  const lines = linesOf(far.stdout);
  await lines.next();
  const input = far.stdin.getWriter();
  const ask = (text: string) => input.write(new TextEncoder().encode(`${text}\n`));
  const lane = await LANES[way](`${folder}/out`, false);
  let back: Lane | undefined;
  const check = (got: number, value: number) => {
    if (got !== value * ROWS.length * width) throw new Error(`expected frame ${value}, got the sum ${got}`);
  };
  const receive = async (count: number) => {
    await ask(`frames ${count}`);
    for (let i = 0; i < count; i++) check(await lane.receive(), i % 256);
  };
  const worked = async () => {
    await ask("cpu");
    return microseconds() + Number((await lines.next()).value);
  };
  let spent = 0;
  const cpu: Operation = {
    async run(count) {
      const before = await worked();
      await receive(count);
      spent = await worked() - before;
    },
    spent: () => spent * 1000,
  };
  await serve({
    frames: () => ({ run: receive }),
    cpu: () => cpu,
    async echo() {
      back ??= await LANES[way](`${folder}/back`, true);
      return {
        async run(count) {
          await ask(`echo ${count}`);
          for (let i = 0; i < count; i++) {
            await back!.send(i % 256);
            check(await lane.receive(), i % 256);
          }
        },
      };
    },
  });
  await input.close();
  await far.status;
  await Deno.remove(folder, { recursive: true });
  Deno.exit();
}

await (role === "far" ? beFar() : beNear());
