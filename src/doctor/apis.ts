import type { ApiExaminer } from "./api.ts";
import { CUDA } from "./cuda/mod.ts";
import { HOST } from "./host/mod.ts";
import { OPENCL } from "./opencl/mod.ts";
import { OPENCV } from "./opencv/mod.ts";

/** Every API that the doctor looks at: a new one is a file of its own and a line here. */
export const APIS: readonly ApiExaminer[] = [HOST, OPENCL, CUDA, OPENCV];
