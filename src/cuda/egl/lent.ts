import type { Resource } from "../../core/life/resource.ts";
import { CudaArray } from "../arrays/array.ts";
import type { CudaTensor } from "../tensor.ts";

/** The planes of a frame. */
export type Planes = readonly (CudaTensor | CudaArray)[];

/** The name of what has them, for messages. */
const STREAM = "an EGLStream";

/**
 * Lends planes to a stream: nobody writes them until the returned function is called, and the end of one ends the producer
 * first, for nobody can take a frame out of a stream.
 */
export function lend(planes: Planes, producer: Resource): () => void {
  const ends = planes.map((plane) => {
    producer.dependOn(plane.resource);
    if (plane instanceof CudaArray) return plane.lendTo(STREAM);
    const { grant } = plane;
    const lent = grant.lend("read", grant.start, grant.end, STREAM);
    return () => lent.finish();
  });
  return () => {
    for (const end of ends) end();
    for (const { resource } of planes) producer.partFrom(resource);
  };
}
