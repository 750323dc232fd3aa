import { derivedId } from '@commonplace/kit/id';

/** The id of a person's default Personal workspace; tenancy derives the same. */
export function homeOf(userId: string): string {
  return derivedId(`personal-workspace:${userId}`);
}
