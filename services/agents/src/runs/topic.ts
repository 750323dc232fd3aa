/** Returns the topic on which a run's progress is broadcast. */
export const runTopic = (runId: string): string => `run.${runId}`;
/** Returns the topic on which a worker is told to stop a run. */
export const cancelTopic = (runId: string): string => `run-cancel.${runId}`;

/** What is broadcast while a run is worked on. */
export type RunSignal =
  /** Its records have changed. */
  | { readonly kind: 'changed' }
  /** More of the message that it writes; `offset` counts UTF-16 code units. */
  | {
      readonly kind: 'text';
      readonly attempt: number;
      readonly offset: number;
      readonly text: string;
    };

export const writeSignal = (signal: RunSignal): string => JSON.stringify(signal);
export const readSignal = (text: string): RunSignal => JSON.parse(text) as RunSignal;
