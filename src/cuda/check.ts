import { Checks } from "../core/checks.ts";

export const checks: Checks = new Checks("cuda");
