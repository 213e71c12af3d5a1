const sleeper = new Int32Array(new SharedArrayBuffer(4));

export function sleepSync(milliseconds: number): void {
  Atomics.wait(sleeper, 0, 0, milliseconds);
}
