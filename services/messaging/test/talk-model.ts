/** A message in the model. */
interface ModelMessage {
  readonly id: string;
  readonly seq: number;
  readonly author: string;
  mentions: ReadonlySet<string>;
  isDeleted: boolean;
  /** Number of days that have passed before it was sent. */
  readonly day: number;
}

interface ModelMember {
  isActive: boolean;
  marker: number;
  visibleFrom: number;
  isMuted: boolean;
}

/** A conversation as a plain list, which counts by iterating over all messages. */
export class ModelConversation {
  messages: ModelMessage[] = [];
  lastSeq = 0;
  isArchived = false;
  readonly members = new Map<string, ModelMember>();

  constructor(
    readonly id: string,
    readonly owner: string,
    readonly retentionDays: number | undefined,
  ) {}

  join(person: string, sharesHistory = true): void {
    const visibleFrom = sharesHistory ? 1 : this.lastSeq + 1;
    this.members.set(person, { isActive: true, marker: this.lastSeq, visibleFrom, isMuted: false });
  }

  post(id: string, author: string, mentions: ReadonlySet<string>, day: number, marksRead: boolean): number {
    this.lastSeq++;
    this.messages.push({ id, seq: this.lastSeq, author, mentions, isDeleted: false, day });
    if (marksRead) this.member(author).marker = this.lastSeq;
    return this.lastSeq;
  }

  member(person: string): ModelMember {
    const found = this.members.get(person);
    if (found === undefined) throw new Error(`${person} was never a member`);
    return found;
  }

  active(): string[] {
    return [...this.members].filter(([, { isActive }]) => isActive).map(([person]) => person);
  }

  /** Removes the messages that were sent at least the given number of days ago. */
  expire(day: number): void {
    const days = this.retentionDays;
    if (days === undefined) return;
    const kept = this.messages.findIndex((message) => day - message.day < days);
    this.messages = kept < 0 ? [] : this.messages.slice(kept);
  }

  private unreadBy(person: string): ModelMessage[] {
    const { marker, visibleFrom } = this.member(person);
    const from = Math.max(marker, visibleFrom - 1);
    return this.messages.filter(({ seq, author, isDeleted }) => seq > from && author !== person && !isDeleted);
  }

  unread(person: string): number {
    return this.unreadBy(person).length;
  }

  mentions(person: string): number {
    return this.unreadBy(person).filter(({ mentions }) => mentions.has(person) || mentions.has('*')).length;
  }

  visible(person: string): number {
    const { visibleFrom } = this.member(person);
    return this.messages.filter(({ seq, isDeleted }) => seq >= visibleFrom && !isDeleted).length;
  }
}

/** Counts the unread messages of a person in all conversations. */
export function totalUnread(all: readonly ModelConversation[], person: string): number {
  return all.reduce((sum, conversation) => {
    const member = conversation.members.get(person);
    const counts = member?.isActive && !member.isMuted && !conversation.isArchived;
    return counts ? sum + conversation.unread(person) : sum;
  }, 0);
}

/** Returns numbers below `end` that are the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): (end: number) => number {
  let state = seed >>> 0;
  return (end) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * end);
  };
}
