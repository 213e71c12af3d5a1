/** Native objects to release, newest last; run from the end. A plain array was measured faster than DisposableStack. */
export type Undo = (() => void)[];

const NONE: readonly unknown[] = [];

/** Runs an undo list, newest first and complete even when a step fails; answers the failures. */
export function unwind(undo: Undo): readonly unknown[] {
  let errors: unknown[] | undefined;
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    try {
      step();
    } catch (error) {
      (errors ??= []).push(error);
    }
  }
  return errors ?? NONE;
}
