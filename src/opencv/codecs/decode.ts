import type { Address } from "../../../ffi/address.ts";
import { CV_8U } from "../../../ffi/opencv_core/constants.ts";
import { imgcodecs } from "../library.ts";
import { withMat } from "../operations/temporary.ts";
import { withString } from "../memory.ts";
import { withMemoryFile } from "./memory_file.ts";
import { radianceSize } from "./radiance.ts";
import { tiffFault } from "./tiff.ts";

const TIFF = /^(?:II[*+]\0|MM\0[*+])/;

const RADIANCE = /^#\?R(?:GBE|ADIANCE)/;

/** The first bytes of other formats that OpenCV reads only from files: OpenEXR, PFM, NITF, DICOM, DTED, Sun rasters. */
const FROM_FILES = /^(?:v\/1|P[Ff]|NITF|[^]{128}DICM|[^]{140}DTED|\x59\xa6\x6a\x95)/;

const SIGNATURE = 144;

/**
 * Decodes an image file into an empty Mat, which stays empty if OpenCV cannot decode it. Returns the fault of the bytes if it
 * was found before OpenCV was called. @throws {OpenCVError} if the image is too large.
 */
export function decode(result: Address, bytes: Uint8Array<ArrayBuffer>, flags: number): string | undefined {
  if (bytes.length === 0) return "it is empty";
  const start = String.fromCharCode(...bytes.subarray(0, SIGNATURE));
  if (RADIANCE.test(start)) return decodeRadiance(result, bytes, flags);
  const fault = TIFF.test(start) ? tiffFault(bytes) : undefined;
  if (fault === undefined) (FROM_FILES.test(start) ? decodeFromFile : decodeFromMemory)(result, bytes, flags);
  return fault;
}

function decodeRadiance(result: Address, bytes: Uint8Array<ArrayBuffer>, flags: number): string | undefined {
  const size = radianceSize(bytes);
  if (typeof size === "string") return size;
  // OpenCV never closes the file of an image that is too large. So its limit is tested first, by the header of a Sun raster
  // without pixels, which it rejects silently.
  const { width, height } = size;
  const header = new DataView(new ArrayBuffer(32));
  [0x59a66a95, width, height, 8, 0, 1, 0, 0].forEach((value, i) => header.setUint32(4 * i, value));
  decodeFromFile(result, new Uint8Array(header.buffer), flags);
  decodeFromFile(result, bytes, flags);
}

function decodeFromFile(result: Address, bytes: Uint8Array<ArrayBuffer>, flags: number): void {
  withMemoryFile((file) => {
    file.write(bytes);
    withString(file.path, (path) => imgcodecs().imread(result, path, flags));
  });
}

function decodeFromMemory(result: Address, bytes: Uint8Array<ArrayBuffer>, flags: number): void {
  withMat(bytes, { type: CV_8U, sizes: [1, bytes.length] }, (mat) => imgcodecs().imdecode(result, mat, flags));
}
