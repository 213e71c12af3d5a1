import { Checks } from "../core/checks.ts";

/** The checks of arguments to CUDA. */
export const checks: Checks = new Checks("cuda");
