import { reasonOf } from "../core/errors.ts";
import type { Finding } from "./report.ts";

/** What was thrown, as a finding: an error's hint is its remedy. */
export function findingOf(error: unknown): Finding {
  const { reason, ...remedy } = reasonOf(error);
  return { what: reason, ...remedy };
}

/** Does something whose failure is only a finding; then the answer is undefined. */
export function attempt<T>(findings: Finding[], action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    findings.push(findingOf(error));
    return undefined;
  }
}
