/**
 * What the guide's recipe uses of npm's node-av, which is not a dependency here.
 *
 * @module
 */

/** A frame that it has decoded. Its Buffers are its memory. */
export interface DecodedFrame extends Disposable {
  readonly width: number;
  readonly height: number;
  readonly linesize: readonly number[];
  readonly data: readonly Uint8Array<ArrayBuffer>[] | null;
}

/** A stream of a file. */
export interface Stream {
  readonly index: number;
}

/** Reads a file. */
export declare class Demuxer implements AsyncDisposable {
  static open(path: string): Promise<Demuxer>;
  video(): Stream | undefined;
  packets(stream: number): AsyncIterable<unknown>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Decodes a stream. */
export declare class Decoder implements Disposable {
  static create(stream: Stream): Promise<Decoder>;
  frames(packets: AsyncIterable<unknown>): AsyncIterable<DecodedFrame | null>;
  [Symbol.dispose](): void;
}
