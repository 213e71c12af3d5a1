import { ERROR_NAMES, OpenCLApiCallError, StsNoMem } from "../../ffi/opencv_core/errors.ts";
import type { OpenCVCore } from "../../ffi/opencv_core/functions.ts";
import type { OpenCVImgcodecs } from "../../ffi/opencv_imgcodecs/functions.ts";
import type { OpenCVImgproc } from "../../ffi/opencv_imgproc/functions.ts";
import { OpenCVError } from "../../src/opencv/errors.ts";
import type { Failure, Failures } from "./failures.ts";

/** A `cv::Exception`, as the guard makes an error of it. */
function throwing(code: number): Failure {
  const codeName = ERROR_NAMES.get(code)!;
  return {
    throws: (fn) => new OpenCVError(`${fn} failed with ${codeName} (${code}).`, { api: "opencv", fn, code, codeName }),
  };
}

const noMemory = throwing(StsNoMem);
const openCL = throwing(OpenCLApiCallError);

/** OpenCV's core. What only looks something up, and what ends an object, throws nothing. */
export const OPENCV_CORE: Failures<OpenCVCore> = {
  getVersionMajor: undefined,
  getVersionMinor: undefined,
  getVersionRevision: undefined,
  getBuildInformation: undefined,
  getNumThreads: undefined,
  cuda_getCudaEnabledDeviceCount: undefined,
  fastMalloc: noMemory,
  fastFree: undefined,
  Mat_construct: undefined,
  Mat_construct2D: noMemory,
  Mat_constructND: noMemory,
  Mat_copy: noMemory,
  Mat_destruct: undefined,
  Mat_create: noMemory,
  Mat_release: undefined,
  Mat_copyTo: noMemory,
  Mat_copyToMasked: noMemory,
  Mat_convertTo: noMemory,
  Mat_getStdAllocator: undefined,
  Mat_getDefaultAllocator: undefined,
  Mat_setDefaultAllocator: undefined,
  UMat_construct: undefined,
  UMat_copy: noMemory,
  UMat_destruct: undefined,
  UMat_create: openCL,
  UMat_copyTo: openCL,
  UMat_copyToMasked: openCL,
  UMat_convertTo: openCL,
  UMat_handle: openCL,
  UMat_getMat: openCL,
  ocl_haveOpenCL: undefined,
  ocl_useOpenCL: openCL,
  ocl_finish: openCL,
  ocl_getOpenCLAllocator: noMemory,
  ocl_attachContext: openCL,
  ocl_convertFromBuffer: openCL,
  Context_getDefault: openCL,
  Context_ptr: undefined,
  Context_ndevices: undefined,
  Context_device: undefined,
  Device_ptr: undefined,
  Queue_getDefault: openCL,
  Queue_ptr: undefined,
  OpenCLExecutionContext_getCurrentRef: undefined,
  OpenCLExecutionContext_release: undefined,
  error: undefined,
  bitwise_not: noMemory,
  flip: noMemory,
};

/** OpenCV's image processing. */
export const OPENCV_IMGPROC: Failures<OpenCVImgproc> = {
  cvtColor: noMemory,
  GaussianBlur: noMemory,
  Canny: noMemory,
  resize: noMemory,
  warpAffine: noMemory,
  threshold: noMemory,
};

/** OpenCV's image files. */
export const OPENCV_IMGCODECS: Failures<OpenCVImgcodecs> = {
  imread: noMemory,
  imwrite: noMemory,
  imdecode: noMemory,
  imencode: noMemory,
  haveImageReader: noMemory,
  haveImageWriter: noMemory,
};
