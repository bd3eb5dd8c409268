import builtins; profile = getattr(builtins, "profile", lambda thing: thing)

@profile
class Account:
    def __init__(self, owner):
        self.owner = owner          # HITS: 3
        self.entries = []           # HITS: 3

    def add(self, amount):
        self.entries.append(amount)     # HITS: 12
        return self                     # HITS: 12

    @classmethod
    def empty(cls):
        return cls("nobody")        # HITS: 1

    @staticmethod
    def rounded(amount):
        return round(amount, 2)     # HITS: 2

    class Note:
        def text(self):
            return "a note"         # HITS: 1

account = Account("Ada")
for amount in range(12):
    account.add(amount)
Account("Grace"), Account.empty()
print(sum(account.entries), Account.rounded(1.234), Account.rounded(2.0), Account.Note().text())
