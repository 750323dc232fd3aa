/** The messages of errors in one language. */
export interface Messages {
  /** What is wrong with a value, by the English text, in which `{name}` stands for what differs. */
  readonly rules: Readonly<Record<string, string>>;
  /** What an error code means, for texts that `rules` does not have. */
  readonly codes: Readonly<Record<string, string>>;
}
