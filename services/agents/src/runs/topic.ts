/** Returns the topic on which the progress of a run is broadcast. */
export const runTopic = (runId: string): string => `run.${runId}`;
/** Returns the topic on which the cancellation of a run is broadcast. */
export const cancelTopic = (runId: string): string => `run-cancel.${runId}`;

/** A broadcast about a run in progress. */
type RunSignal =
  /** The records of the run have changed. */
  | { readonly kind: 'changed' }
  /** The run has written more of its message; `offset` counts UTF-16 code units. */
  | {
      readonly kind: 'text';
      readonly attempt: number;
      readonly offset: number;
      readonly text: string;
    };

export const writeSignal = (signal: RunSignal): string => JSON.stringify(signal);
export const readSignal = (text: string): RunSignal => JSON.parse(text) as RunSignal;
