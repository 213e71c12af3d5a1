/** Steps that release native objects; they run from the end. An array measured faster than a DisposableStack. */
export type Undo = (() => void)[];

const NONE: readonly unknown[] = [];

function nothing(): void {}

/** An empty list with room for two steps: most need no more, and V8 makes room for seventeen when one is pushed to `[]`. */
export function newUndo(): Undo {
  const undo: Undo = [nothing, nothing];
  undo.pop();
  undo.pop();
  return undo;
}

/** Runs all steps, newest first, even when one fails; returns the failures. */
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
