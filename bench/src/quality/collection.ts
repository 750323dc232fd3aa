export interface Text {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface Query {
  readonly id: string;
  readonly text: string;
}

/** Grades by query and document: how well the document answers the query according to people; 0 means not at all. */
export type Judgements = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Texts, questions, and grades by people of how well the texts answer the questions. */
export interface Collection {
  readonly name: string;
  readonly documents: readonly Text[];
  /** Queries that at least one document answers. */
  readonly queries: readonly Query[];
  readonly grades: Judgements;
}
