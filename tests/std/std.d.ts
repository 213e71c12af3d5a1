// Types for npm's deno-std, which is plain JavaScript: what our tests and tasks use of it, under the names that
// deno.json maps. deno.json lists this file in compilerOptions.types.

declare module "@std/assert" {
  // deno-lint-ignore no-explicit-any -- a constructor's parameters are compared contravariantly: only any takes them all
  type ErrorClass<E extends Error> = abstract new (...args: any[]) => E;
  // deno-lint-ignore no-explicit-any
  type AnyClass = abstract new (...args: any[]) => any;

  export class AssertionError extends Error {
    constructor(message: string, options?: ErrorOptions);
  }

  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>;
  export function assertFalse(expr: unknown, msg?: string): asserts expr is false | 0 | 0n | "" | null | undefined;
  export function assertInstanceOf<C extends AnyClass>(
    actual: unknown,
    expectedType: C,
    msg?: string,
  ): asserts actual is InstanceType<C>;
  export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
  export function assertRejects<E extends Error = Error>(
    fn: () => PromiseLike<unknown>,
    errorClass: ErrorClass<E>,
    msgIncludes?: string,
    msg?: string,
  ): Promise<E>;
  export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T;
  export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
  export function assertThrows(fn: () => unknown, msg?: string): unknown;
  export function assertThrows<E extends Error = Error>(
    fn: () => unknown,
    errorClass: ErrorClass<E>,
    msgIncludes?: string,
    msg?: string,
  ): E;
  export function fail(msg?: string): never;
  export function unreachable(reason?: string): never;
}

declare module "@std/path" {
  export function basename(path: string | URL, suffix?: string): string;
  export function dirname(path: string | URL): string;
  export function fromFileUrl(url: string | URL): string;
  export function join(path: string | URL, ...paths: string[]): string;
  export function relative(from: string, to: string): string;
  export function resolve(...paths: string[]): string;
  export function toFileUrl(path: string): URL;
}
