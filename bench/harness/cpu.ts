/** What the kernel counts in: sysconf(_SC_CLK_TCK) is 100 on every Linux that Deno runs on. */
const TICK_NS = 1e7;

/** Nanoseconds that processes have worked so far, all of their threads together. One that has ended counts for nothing. */
export function workOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ticksOf(pid), 0) * TICK_NS;
}

/** User's and system's time: fields 14 and 15 of proc(5), counted behind the name, in which there may be anything. */
function ticksOf(pid: number): number {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
