import { Checks } from "../core/checks.ts";

/** The checks of what a program passes to CUDA. */
export const checks: Checks = new Checks("cuda");
