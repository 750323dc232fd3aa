import type { Facts, NotificationType } from './draft.js';

/** The data for the title of a notification. */
interface Subject {
  readonly actor: string;
  /** The current name of the target; undefined if the reader may not see it. */
  readonly name: string | undefined;
  readonly facts: Facts;
}

/** Returns the title of a notification, one line of English. */
export function titleOf(type: NotificationType, { actor, name, facts }: Subject): string {
  const who = actor === '' ? 'Somebody' : actor;
  const named = (preposition: string) => (name === undefined || name === '' ? '' : ` ${preposition} ${quote(name)}`);
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
    case 'key_suspended':
      return `The API key ${quote(facts.called ?? '')} was suspended, because its person is no longer active in the Org`;
    case 'import_finished':
      return importTitle(facts.import);
    case 'usage_alert':
      return usageTitle(facts.usage);
    case 'memory_proposed':
      return `${who} proposes to remember something`;
    case 'form_submitted':
      return `New response${named('in')}`;
    case 'message':
      return `${who} wrote${name === '' ? ' to you' : named('in')}`;
    case 'webhook_disabled':
      return `Responses${named('in')} are no longer sent to ${facts.host}, which takes none`;
    case 'approval_requested':
      return `${who} asks for your approval`;
    case 'mcp_server_disabled':
      return mcpServerTitle(facts.mcpServer);
    case 'work_item_assigned':
      return `${who} assigned ${name === undefined || name === '' ? 'a work item' : quote(name)} to you`;
    case 'automation_failed':
      return `${nameOf('automation', name)} has failed${facts.disabled ? ' too often and was switched off' : ''}`;
    case 'schedule_paused':
      return `${nameOf('schedule', name)} was paused`;
    case 'automation_notice':
      return name === undefined || !facts.title ? 'An automation has a notice for you' : facts.title;
  }
}

function nameOf(noun: 'automation' | 'schedule', name: string | undefined): string {
  return name === undefined || name === ''
    ? `${noun === 'automation' ? 'An' : 'A'} ${noun}`
    : `The ${noun} ${quote(name)}`;
}

function quote(name: string): string {
  return `“${name}”`;
}

function mcpServerTitle(server: Facts['mcpServer']): string {
  const { name, agent } = server ?? { name: '', agent: '' };
  return `The MCP server ${quote(name)} of the agent ${quote(agent)} fails and was switched off`;
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

function usageTitle(usage: Facts['usage']): string {
  const { about, threshold, used, limit } = usage ?? { about: 'monthly_cap', threshold: 0, used: '0', limit: '0' };
  switch (about) {
    case 'overage':
      return `More credits are used than there were: ${used} beyond the balance this month`;
    case 'credits':
      return `${threshold}% of the credits are used: ${used} of ${limit} are left`;
    case 'monthly_cap':
      return `${threshold}% of the monthly usage cap is reached: ${used} of ${limit} credits`;
  }
}
