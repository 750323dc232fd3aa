/** Messages of errors in one language. */
export interface Messages {
  /** Translations of what is wrong with a value, by the English text. `{name}` is a placeholder for a variable part. */
  readonly rules: Readonly<Record<string, string>>;
  /** Meanings of error codes, for texts that `rules` does not have. */
  readonly codes: Readonly<Record<string, string>>;
}
