/**
 * Rings over UCX, in tests.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, imageInfo } from "../../mod.ts";
import type { RingReader, RingWriter, WhenFull } from "../../src/channel/mod.ts";
import { UcxContext, type UcxRings } from "../../src/ucx/mod.ts";

export type HostFrame = Frame<HostTensor>;

/** Small, of two planes. */
export const INFO = imageInfo({ format: "NV12", width: 64, height: 16 });

export const SECRET = "what only the tests' processes know";

/** A context, and its rings over Unix sockets. */
export function openRings(
  transports: readonly string[],
  { timeout = 10_000, devices = ["lo"] }: { timeout?: number; devices?: readonly string[] } = {},
): { readonly ucx: UcxContext; readonly rings: UcxRings } {
  const ucx = UcxContext.open({ transports, devices });
  return { ucx, rings: ucx.rings({ ...unix(), timeout }) };
}

/** Sockets by their paths. */
export function unix() {
  return {
    listen: (path: string) => Deno.listen({ transport: "unix", path }),
    connect: (path: string) => Deno.connect({ transport: "unix", path }),
  };
}

/** A path that nobody has. */
export function freshPath(): string {
  return `${Deno.makeTempDirSync()}/ring`;
}

export function create(
  rings: UcxRings,
  address: string,
  frames = 3,
  whenFull: WhenFull = "wait",
): RingWriter<HostFrame> {
  using made = new DisposableStack();
  const memory = Array.from({ length: frames }, () => made.use(host.allocateFrame(INFO)));
  const ring = rings.create(address, { frames: memory, whenFull });
  made.move();
  return ring;
}

export function open(rings: UcxRings, address: string): Promise<RingReader<HostFrame>> {
  return rings.open<HostFrame>(address, { contexts: [host] });
}

/** Fills a frame with one number, and publishes it. */
export async function publish(ring: RingWriter<HostFrame>, value: number): Promise<number> {
  const frame = await ring.next({ signal: AbortSignal.timeout(30_000) });
  for (const plane of frame.planes) plane.bytes().fill(value);
  return await ring.publish(frame);
}

/** The number that fills a frame. */
export function valueOf(frame: HostFrame): number {
  const values = new Set(frame.planes.flatMap((plane) => [...plane.bytes()]));
  assertEquals(values.size, 1, `the frame is of one piece, and has ${[...values]}`);
  return [...values][0];
}

/** Waits until something holds. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + 30_000; !holds();) {
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A port of 127.0.0.1 on which nobody listens. */
export function unusedPort(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `${(listener.addr as Deno.NetAddr).port}`;
}
