import type { Facts, NotificationType } from './draft.js';

/** What a title speaks of. */
export interface Subject {
  readonly actor: string;
  /** What the target is called now; undefined where that is not the reader's to know. */
  readonly name: string | undefined;
  readonly facts: Facts;
}

/** One line of English about a notification. */
export function titleOf(type: NotificationType, { actor, name, facts }: Subject): string {
  const who = actor === '' ? 'Somebody' : actor;
  const named = (preposition: string) => (name === undefined ? '' : ` ${preposition} ${quote(name)}`);
  switch (type) {
    case 'mention':
      return `${who} mentioned you${named('in')}`;
    case 'comment_reply':
      return `${who} replied to a comment${named('in')}`;
    case 'comment_resolved':
      return `${who} resolved a comment${named('in')}`;
    case 'access_requested':
      return `${who} asks for access${named('to')}`;
    case 'access_decided':
      return `Your request for access${named('to')} was ${facts.approved ? 'approved' : 'denied'}`;
    case 'resource_shared':
      return `${who} shared ${name === undefined ? 'something' : quote(name)} with you`;
    case 'member_added':
      return memberTitle(who, name, facts);
    case 'key_expiring':
      return keyTitle(facts.key);
    case 'import_finished':
      return importTitle(facts.import);
    case 'form_submitted':
      return `New response${named('in')}`;
    case 'webhook_disabled':
      return `Responses${named('in')} are no longer sent to ${facts.host}, which takes none`;
  }
}

function quote(name: string): string {
  return `“${name}”`;
}

function memberTitle(who: string, name: string | undefined, { joined }: Facts): string {
  const place = name === undefined ? '' : ` ${quote(name)}`;
  if (joined) return place === '' ? `${who} has joined` : `${who} has joined${place}`;
  return place === '' ? `${who} added you` : `${who} added you to${place}`;
}

function keyTitle(key: Facts['key']): string {
  const { name, daysLeft } = key ?? { name: '', daysLeft: 0 };
  const when = daysLeft <= 0 ? 'today' : daysLeft === 1 ? 'tomorrow' : `in ${daysLeft} days`;
  return `The API key ${quote(name)} expires ${when}`;
}

function importTitle(ended: Facts['import']): string {
  const { name, status } = ended ?? { name: '', status: '' };
  if (status === 'failed') return `The import ${quote(name)} has failed`;
  return `The import ${quote(name)} is complete${status === 'completed_with_errors' ? ', with errors' : ''}`;
}
