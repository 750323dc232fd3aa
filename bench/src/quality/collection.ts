export interface Text {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface Query {
  readonly id: string;
  readonly text: string;
}

/** Grades by query, then by document: how well people say the document answers the query; 0 is not at all. */
export type Judgements = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Texts, questions, and people's grades of how well texts answer them. */
export interface Collection {
  readonly name: string;
  readonly documents: readonly Text[];
  /** Only those that a document answers. */
  readonly queries: readonly Query[];
  readonly grades: Judgements;
}
