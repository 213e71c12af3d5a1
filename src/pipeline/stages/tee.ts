import { throwAll } from "../../core/errors.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { StageFigures } from "../figures.ts";
import { Plan } from "../plan.ts";
import { type Piece, type Pipeline, pipeline, Source } from "../pipeline.ts";
import { Queue } from "../queue.ts";
import { checks, MAX_AT_A_TIME, type Run, Sink } from "../stage.ts";

/**
 * A sink that hands each frame to several pipelines, which all read the same bytes. None of them can write these: put
 * {@link copy} before a stage that works in place. A frame ends once all pipelines are done with it.
 *
 * @param branches the stages of each, with a sink at the end
 * @throws {ArgumentError} for anything but a stage, and for a stage in the wrong place.
 *
 * @example
 * ```ts
 * import { host, imageInfo } from "@samepage/interop";
 * import { pipeline, Sink, Source, tee } from "@samepage/interop/pipeline";
 *
 * const frames = new Source({
 *   name: "frames",
 *   async *frames() {
 *     yield host.allocateFrame(imageInfo({ format: "GRAY8", width: 4, height: 1 }));
 *   },
 * });
 * const named = (name: string) => new Sink({ name, write: (frame) => console.log(name, frame.info.format) });
 * await pipeline(frames, tee([named("left")], [named("right")])).run(); // left GRAY8, right GRAY8
 * ```
 */
export function tee(...branches: readonly (readonly Piece[])[]): Sink {
  for (const pieces of branches) {
    if (!Array.isArray(pieces)) {
      throw checks.wrongKind("branches", "lists of stages", pieces, "Write tee([a, b], [c]).");
    }
  }
  const contexts = branches.flatMap((pieces) => {
    const { stages } = pipeline(NOTHING, ...pieces);
    if (stages.at(-1) instanceof Sink) return stages.flatMap((stage) => stage.contexts);
    throw checks.wrong("branches", "expected a sink at the end of each branch.", "Write tee([a, sink], [other]).");
  });
  let running: readonly Branch[] | undefined;
  let last: readonly Branch[] = [];
  const begin = (run: Run) => running ??= last = branches.map((pieces) => new Branch(pieces, run));
  const end = async () => {
    const ended = await Promise.allSettled((running ?? []).map((branch) => branch.close()));
    running = undefined; // the pipeline may run once more
    return ended.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
  };
  return new Sink({
    name: "tee",
    contexts,
    concurrency: MAX_AT_A_TIME, // no limit of its own: the branches have theirs
    plan: (frame, run) => Promise.all(begin(run).map((branch) => branch.plan(frame))),
    figures: () => last.flatMap((branch) => branch.figures),
    write: async (frame, run) => {
      await Promise.all(begin(run).map((branch) => branch.hand(frame)));
    },
    flush: () => running?.forEach((branch) => branch.flush()), // so that a branch hands out what it keeps
    close: async () => throwAll(await end(), "ending the branches"),
    abort: async () => void await end(),
  });
}

const NOTHING: AsyncIterable<Frame> = { async *[Symbol.asyncIterator]() {} };

class Branch {
  readonly #frames = new Queue<Frame>();
  readonly #pipeline: Pipeline;
  #running: Promise<unknown> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(pieces: readonly Piece[], { frames, copy, signal }: Run) {
    const source = new Source({
      name: "tee",
      frames: (run) => {
        run.signal.addEventListener("abort", () => this.#frames.end(), { once: true }); // else it waits for a frame
        return this.#frames;
      },
    });
    this.#pipeline = pipeline(source, ...pieces, { frames, copy, signal });
  }

  /** Stage by stage, without its source: that is the tee itself. */
  get figures(): readonly StageFigures[] {
    return this.#pipeline.figures?.stages.slice(1) ?? [];
  }

  async plan(frame: Frame): Promise<Plan> {
    using example = frame.borrow("read");
    const { handOvers: [_source, ...handOvers], unknown } = await this.#pipeline.planFor(example);
    return new Plan(handOvers, unknown);
  }

  /** Hands a frame on. Resolves once this branch is done with it. @throws what has ended the branch. */
  async hand(frame: Frame): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#run();
    if (this.#frames.isClosed) return;
    const lent = frame.borrow("read");
    const { promise, resolve } = Promise.withResolvers<void>();
    lent.resource.undo.unshift(resolve);
    this.#frames.push(lent);
    await promise;
    if (this.#failure !== undefined) throw (this.#failure as { readonly error: unknown }).error;
  }

  #run(): void {
    this.#running ??= this.#pipeline.run()
      .catch((error) => void (this.#failure = { error }))
      .finally(() => this.#frames.close().forEach((frame) => frame[Symbol.dispose]()));
  }

  /** Marks the end of its frames. */
  flush(): void {
    this.#frames.end();
  }

  /** Ends it. @throws what has ended the branch. */
  async close(): Promise<void> {
    this.flush();
    await (this.#running ?? this.#pipeline[Symbol.asyncDispose]());
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
