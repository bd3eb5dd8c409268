from functools import cached_property, partialmethod  # HITS: 1
class Meta(type):
    def __new__(m, name, bases, ns, **kw):  # HITS: 1
        ns["made"] = name  # HITS: 2
        cls = super().__new__(m, name, bases, ns)  # HITS: 2
        return cls  # HITS: 2
    def __init__(cls, name, bases, ns, **kw):  # HITS: 1
        super().__init__(name, bases, ns)  # HITS: 2
    def __call__(cls, *a):  # HITS: 1
        o = super().__call__(*a)  # HITS: 20
        return o  # HITS: 20
    @classmethod
    def __prepare__(m, name, bases, **kw):
        return {}  # HITS: 2
class A(metaclass=Meta, x=1):
    """doc"""
    z: int  # since 3.14 nothing runs here
    w: int = 4  # HITS: 1
    __slots__ = ("a", "__dict__")  # HITS: 1
    def __init__(self, a=3):  # HITS: 1
        self.a = a  # HITS: 20
    def __init_subclass__(cls, **kw):  # HITS: 1
        super().__init_subclass__()  # HITS: 1
    @property
    def p(self):
        return self.a
    @p.setter
    def p(self, v):
        self.a = v  # HITS: 4
    @p.deleter
    def p(self):
        del self.a  # HITS: 4
    @cached_property
    def c(self):
        x = self.a  # HITS: 4
        return x * 2  # HITS: 4
    @classmethod
    def k(cls, n):
        return cls(n)  # HITS: 4
    @staticmethod
    def s(n):
        return n  # HITS: 4
    pm = partialmethod(s, 5)  # HITS: 1
    def _add(self, x, y):  # HITS: 1
        return x + y  # HITS: 4
    add5 = partialmethod(_add, 5)  # HITS: 1
    def __class_getitem__(cls, item):  # HITS: 1
        return cls, item  # HITS: 4
    def __getattr__(self, name):  # HITS: 1
        if name.startswith("q"):  # HITS: 8
            return name  # HITS: 4
        raise AttributeError(name)  # HITS: 4
    def __enter__(self):  # HITS: 1
        return self  # HITS: 20
    def __exit__(self, t, v, tb):  # HITS: 1
        return t is ZeroDivisionError  # HITS: 20
    class Inner:
        y = 3  # HITS: 1
        def m(self):  # HITS: 1
            return self.y
class B(A):
    pass  # HITS: 1
for i in range(4):  # HITS: 5
    o = A(i)  # HITS: 4
    o.p = i + 1  # HITS: 4
    o.c; o.c  # HITS: 4
    A.k(i).s(3)  # HITS: 4
    o.add5(4)  # HITS: 4
    A[i]  # HITS: 4
    o.qq  # HITS: 4
    getattr(o, "zz", None)  # HITS: 4
    with o:  # HITS: 4
        1 / 0  # HITS: 4
    with o as o2, A(2) as o3:  # HITS: 4
        pass  # HITS: 4
    with (
        A(1) as x1,
        A(2) as x2
    ):
        del x1.p  # HITS: 4
        continue  # HITS: 4
    A.Inner().m()
