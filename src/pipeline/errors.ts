import { type ErrorFields, InteropError } from "../core/errors.ts";

/** A stage of a pipeline failed, or does not fit where it stands; `cause` is what it threw. */
export class StageError extends InteropError {
  /** The stage's name. */
  readonly stage: string;

  /** `stage` is the one at fault. */
  constructor(stage: string, what: string, fields: ErrorFields = {}) {
    super(`${stage}: ${what}`, { api: "pipeline", ...fields });
    this.stage = stage;
  }
}

/** An error with the name of the stage that threw it. */
export function stageError(stage: string, error: unknown): StageError {
  if (error instanceof StageError) return error;
  const { hint } = error instanceof InteropError ? error : {};
  return new StageError(stage, error instanceof Error ? error.message : String(error), { cause: error, hint });
}
