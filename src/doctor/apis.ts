import type { ApiExaminer } from "./api.ts";
import { CUDA } from "./cuda.ts";
import { HOST } from "./host.ts";
import { OPENCL } from "./opencl.ts";
import { OPENCV } from "./opencv.ts";

/** Every API that the doctor looks at: a new one is a file of its own and a line here. */
export const APIS: readonly ApiExaminer[] = [HOST, OPENCL, CUDA, OPENCV];
