import type { OpenCLDevice } from "../device.ts";
import type { ImageProblem, ImageShape } from "./shape.ts";

/** The platform whose driver (580.159) fetches an image from host memory as though its slices had no room between them. */
const UNSOUND = "NVIDIA CUDA";

/**
 * Why slices with room between them cannot be an image over host memory here. NVIDIA's driver answers the right pitches,
 * and brings bytes back with them, but fetches other bytes than those: the pixels would be wrong, without an error. Its
 * clEnqueueWriteImage and clEnqueueReadImage take such slices as they are.
 */
export function sliceProblem(image: ImageShape, { platform, driver }: OpenCLDevice): ImageProblem | undefined {
  const { extent: [, y, z], pitch } = image;
  if (platform !== UNSOUND || z === 1 || pitch.slice === pitch.row * y) return undefined;
  const room = `its slices lie ${pitch.slice} bytes apart, and are ${pitch.row * y} long`;
  return {
    argument: "strides",
    problem: `${room}: ${platform} ${driver} gives a kernel other bytes of such memory.`,
    remedy: "Leave no room between the slices: rows may have some.",
  };
}
