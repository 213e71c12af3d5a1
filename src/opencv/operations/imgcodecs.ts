import type { OpenCVMat } from "../mat.ts";
import type { MatTarget } from "../mats/target.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { ImgprocOperations } from "./imgproc.ts";
import type { ReadMode, ReadOptions } from "./read_mode.ts";
import { imdecode, imread } from "./reading.ts";
import type { WriteOptions } from "./write_params.ts";
import { imencode, imwrite } from "./writing.ts";

/**
 * The functions of the imgcodecs module, as methods of {@link OpenCVContext}. Images are grey, BGR or BGRA: blue first,
 * whatever the file's own order is.
 *
 * Deno reads and writes the files of {@link imread} and {@link imwrite}, so they need `--allow-read` and `--allow-write` of
 * the file and no more; OpenCV decodes and encodes in memory. Only regular files are read and written: a FIFO or a device is
 * refused. If a picture cannot be written, the path keeps its previous file, or has none, and the error says which.
 *
 * Decoders are native code too. OpenCV refuses images of more than 2^20 pixels a side or 2^30 in all before it allocates
 * memory for them; `OPENCV_IO_MAX_IMAGE_WIDTH`, `…_HEIGHT` and `…_PIXELS`, set before the program starts, change that. A
 * malicious file is as dangerous as in C++.
 *
 * A file that ends early is an error, unless it has all pixels. JPEG is the exception: its decoder silently fills in the
 * missing pixels, as in C++.
 */
export abstract class ImgcodecsOperations extends ImgprocOperations {
  /** Mats. */
  abstract readonly mat: MatTarget;

  /**
   * Reads an image file (`cv::imread`) into OpenCV's own memory, which lives as long as the tensor, and can be mapped like any
   * other. On x86-64 only.
   *
   * @param filename a path; its ending does not matter
   * @param mode `"color"`: u8, BGR. `"grayscale"`: u8, one channel. `"unchanged"`: with the file's own channels and depth.
   * `"anydepth"` keeps 16 and 32 bits a channel, and converts to grey; `"anycolor"` keeps grey or BGR; the reduced modes make
   * the image a half, a quarter or an eighth as wide and high
   * @throws {PermissionError} if Deno may not read the file.
   * @throws {ArgumentError} if there is no such regular file, or it has more than 2^31 - 1 bytes.
   * @throws {NativeCallError} for a file that is not an image or ends early; a JPEG that ends early is filled in.
   * @throws {OpenCVError} if the image is too large.
   * @throws {InteropError} on processors other than x86-64.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using photo = cv.imread("examples/edges/photo.jpg", "color");
   * console.log(photo.type); // CV_8UC3
   * ```
   */
  imread(filename: string, mode: ReadMode = "color", options: ReadOptions = {}): OpenCVMat {
    return imread(this.mat, filename, mode, options);
  }

  /**
   * Writes an image file (`cv::imwrite`) in the format of its ending. A depth that the format does not have is clamped to u8:
   * scale an image with values from 0 to 1 first. A TIFF of f32 with three channels is packed as LogLuv, which rounds.
   *
   * @param filename a path; an existing file is replaced, and a symbolic link is followed
   * @param img one channel (grey), three (BGR) or four (BGRA), of u8, u16 or f32
   * @throws {PermissionError} if Deno may not write the file.
   * @throws {ArgumentError} if it cannot be written (the message says what the path holds now), or OpenCV knows no such format.
   * @throws {NativeCallError} if OpenCV cannot encode the image.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * const filename = await Deno.makeTempFile({ suffix: ".png" });
   * cv.imwrite(filename, image, { pngCompression: 9 });
   * await Deno.remove(filename);
   * ```
   */
  imwrite(filename: string, img: OpenCVTensor, options: WriteOptions = {}): void {
    imwrite(this, filename, img, options);
  }

  /**
   * Decodes an image file that is in memory (`cv::imdecode`). On x86-64 only.
   *
   * @param buf the file's bytes; not needed after the call
   * @param mode see {@link imread}
   * @throws {ArgumentError} for no bytes, more than 2^31 - 1, and shared ones.
   * @throws {NativeCallError} for bytes that are not an image or end early; a JPEG that ends early is filled in.
   * @throws {OpenCVError} if the image is too large.
   * @throws {InteropError} on processors other than x86-64.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * const file = await Deno.readFile("examples/edges/photo.jpg");
   * using grey = cv.imdecode(file, "grayscale");
   * console.log(grey.type); // CV_8UC1
   * ```
   */
  imdecode(buf: Uint8Array<ArrayBuffer>, mode: ReadMode = "color", options: ReadOptions = {}): OpenCVMat {
    return imdecode(this.mat, buf, mode, options);
  }

  /**
   * Encodes an image in memory (`cv::imencode`).
   *
   * @param ext the ending of the format: `".png"`
   * @param img see {@link imwrite}
   * @returns a copy that is yours
   * @throws {ArgumentError} if OpenCV knows no such format.
   * @throws {NativeCallError} if OpenCV cannot encode the image.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * const file = cv.imencode(".jpg", image, { jpegQuality: 90 });
   * console.log(file.subarray(0, 2)); // Uint8Array(2) [ 255, 216 ]
   * ```
   */
  imencode(ext: string, img: OpenCVTensor, options: WriteOptions = {}): Uint8Array<ArrayBuffer> {
    return imencode(this, ext, img, options);
  }
}
