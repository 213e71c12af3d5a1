import { type Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import type { VaapiContext, VaapiTensor } from "@samepage/interop/vaapi";

/** A picture in a surface, and the same in host memory. */
export interface FilledSurface extends Disposable {
  readonly surface: Frame<VaapiTensor>;
  readonly pixels: Frame<HostTensor>;
}

/** What a decoder would leave there: here the CPU has drawn it, and a copy has brought it. */
export function filledSurface(va: VaapiContext): FilledSurface {
  using all = new DisposableStack();
  const graph = all.use(new MapperGraph([host, va]));
  const pixels = all.use(host.allocateFrame(imageInfo({ format: "NV12", width: 640, height: 480 })));
  for (const plane of pixels.planes) plane.bytes().forEach((_, i, bytes) => bytes[i] = i * 7 + (i >> 8));
  const surface = all.use(graph.map(pixels, va, { copy: "allow", access: "read" }));
  const made = all.move();
  return { surface, pixels, [Symbol.dispose]: () => made.dispose() };
}

/** The sum of a plane's bytes. */
export function sumOf(plane: HostTensor): number {
  return plane.bytes({ access: "read" }).reduce((sum, byte) => sum + byte, 0);
}
