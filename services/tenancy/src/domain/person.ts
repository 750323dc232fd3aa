/** A registered person, with the fields that memberships copy. */
export interface Person {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
}
