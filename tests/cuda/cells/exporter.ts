import { CudaContext } from "../../../src/cuda/mod.ts";

/** Device memory, and an event behind its making, that another process has given out. */
interface Exported {
  /** What `cuda.openMemory` needs. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What `cuda.openEvent` needs. */
  readonly event: Uint8Array<ArrayBuffer>;
  /** Ends that process; call it once nothing uses the memory. */
  readonly end: () => void;
}

/** Starts a process that allocates device memory, and gives it and an event out. */
export async function exported(ordinal: number, shape: readonly number[]): Promise<Exported> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.url, String(ordinal), shape.join(",")],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await lines.read();
  const end = () => {
    void child.stdin.close().catch(() => {});
    void lines.cancel().catch(() => {});
  };
  if (value === "") throw new Error("The process that was to give memory out has ended.");
  const [bytes, event] = value.trim().split(" ").map((hex) => Uint8Array.fromHex(hex));
  return { bytes, event, end };
}

if (import.meta.main) {
  const [ordinal, shape] = Deno.args;
  using cuda = CudaContext.open({ ordinal: Number(ordinal) });
  using tensor = cuda.allocate({ shape: shape.split(",").map(Number), dtype: "u8" });
  using event = cuda.exportEvent();
  cuda.stream.fill(tensor, 0);
  event.record();
  cuda.stream.finish();
  console.log(cuda.exportMemory(tensor).bytes.toHex(), event.bytes!.toHex());
  for await (const _ of Deno.stdin.readable) { /* until the parent process closes it */ }
}
