export { type MailLimit, openMailLimit } from './limit.js';
export { type Mailer, mailQueue, openMailer, rewrapMails } from './mailer.js';
export { type Mail, writeMail } from './message.js';
export { nameInMail, textInMail } from './names.js';
export { MAIL_SETTINGS } from './settings.js';
