/** A citation in an answer, as it is stored with the answer. */
export interface StoredCitation {
  readonly marker: number;
  readonly resourceId: string;
  readonly name: string;
  /** Such as `document` or `table`. */
  readonly type: string;
  readonly blockId?: string | undefined;
  readonly rowId?: string | undefined;
  readonly page?: number | undefined;
  readonly contentVersion: number;
  /** A verbatim passage of that version. */
  readonly snippet: string;
  /** Highlighted ranges `[start, end)` in code points of the snippet. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly score?: number | undefined;
}
