import { throwAll } from "../errors.ts";

/** Steps that release native objects; they run from the end. An array measured faster than a DisposableStack. */
export type Undo = (() => void)[];

const NONE: readonly unknown[] = [];

/** An empty list with room for two: most need no more, and V8 makes room for seventeen when one is pushed to `[]`. */
export function shortList<T>(): T[] {
  const list: (T | undefined)[] = [undefined, undefined];
  list.pop();
  list.pop();
  return list as T[];
}

/** The list with one more. A new one has room for one. */
export function added<T>(list: T[] | undefined, item: T): T[] {
  if (list === undefined) return [item];
  list.push(item);
  return list;
}

/** An empty list of few steps. */
export const newUndo: () => Undo = shortList;

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

/** Runs all steps, newest first, even when one fails. @throws the failures. */
export function undoAll(undo: Undo, doing: string): void {
  throwAll(unwind(undo), doing);
}

/** Undoes what went before a failure, newest first. @throws the failure, and those of the steps. */
export function undone(error: unknown, undo: Undo, doing: string): never {
  throwAll([error, ...unwind(undo)], doing);
  throw error;
}

/** Makes something by steps, each of which puts its undoing on the list. Where one fails, all of the list is undone. */
export function allOrNothing<T>(doing: string, make: (undo: Undo) => T, undo: Undo = []): T {
  try {
    return make(undo);
  } catch (error) {
    throw undone(error, undo, doing);
  }
}

/** Uses something whose undoing is on the list: however that ends, all of the list is undone. */
export function thenUndo<T>(doing: string, use: (undo: Undo) => T, undo: Undo = []): T {
  const result = allOrNothing(doing, use, undo);
  undoAll(undo, doing);
  return result;
}
