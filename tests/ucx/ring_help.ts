/**
 * Rings over UCX, in tests.
 *
 * @module
 */
import { type FrameInfo, host, imageInfo } from "../../mod.ts";
import type { RingReader, RingWriter, WhenFull } from "../../src/channel/mod.ts";
import { UcxContext, type UcxRings } from "../../src/ucx/mod.ts";
import { type HostFrame, INFO } from "../channel/ring_help.ts";

export { freshPath, type HostFrame, INFO, publish, until, valueOf } from "../channel/ring_help.ts";

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

/** Frames that do not come inside of their notices: UCX moves them once the reader has a place for them. */
export const LARGE = imageInfo({ format: "NV12", width: 640, height: 480 });

export function create(
  rings: UcxRings,
  address: string,
  frames = 3,
  whenFull: WhenFull = "wait",
  info: FrameInfo = INFO,
): RingWriter<HostFrame> {
  using made = new DisposableStack();
  const memory = Array.from({ length: frames }, () => made.use(host.allocateFrame(info)));
  const ring = rings.create(address, { frames: memory, whenFull });
  made.move();
  return ring;
}

export function open(rings: UcxRings, address: string): Promise<RingReader<HostFrame>> {
  return rings.open<HostFrame>(address, { contexts: [host] });
}

/** A port of 127.0.0.1 on which no process listens. */
export function unusedPort(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `${(listener.addr as Deno.NetAddr).port}`;
}
