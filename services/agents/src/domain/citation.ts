/** A source of an answer, as it is stored with the answer. */
export interface StoredCitation {
  readonly marker: number;
  readonly resourceId: string;
  readonly name: string;
  /** `document`, `table`, … */
  readonly type: string;
  readonly blockId?: string | undefined;
  readonly rowId?: string | undefined;
  readonly page?: number | undefined;
  readonly contentVersion: number;
  /** A passage of that version, word for word. */
  readonly snippet: string;
  /** `[start, end)` in code points of the snippet. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly score?: number | undefined;
}
